"""What a folder says of the baseline that its model is: ``baseline.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacross.errors import RunError

RECORD = "baseline.json"
_SHARED = ("baseline", "target", "made_of", "cites", "resources")


@dataclass(frozen=True, slots=True)
class BaselineFacts:
    """A system to compare with. ``resources`` are the names of those that it was given."""

    name: str
    target: str
    made_of: str
    cites: str
    resources: tuple[str, ...]


def read_record(folder: Path) -> dict[str, Any] | None:
    """The record of a baseline; None if the folder has none."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise RunError(f"{path}: cannot be read: {problem}") from problem
    return record


def shared_record(folder: Path) -> str:
    """The record without the settings and names of the machine that it was trained on."""
    record = read_record(folder) or {}
    return json.dumps({key: record[key] for key in _SHARED if key in record}, indent=2) + "\n"


def baseline_facts(folder: Path) -> BaselineFacts | None:
    """What the record of a folder says; None if its model is not a baseline."""
    record = read_record(folder)
    if record is None:
        return None
    return BaselineFacts(
        name=str(record["baseline"]),
        target=str(record["target"]),
        made_of=str(record.get("made_of", record["baseline"])),
        cites=str(record.get("cites", "-")),
        resources=tuple(name.replace("_", " ") for name in record.get("resources", {})),
    )
