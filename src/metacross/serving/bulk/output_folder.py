"""The output folder of an annotation: its manifest, its parts and their receipts."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from metacross.errors import DataError, RunError
from metacross.text.atomic_files import atomic_path, discard
from metacross.text.folder_lock import locked_folder
from metacross.text.input_parts import InputPart
from metacross.text.resource_files import file_digest

MANIFEST = "manifest.json"
_MIN_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was written for a part. ``input`` is a digest of what was read, ``sha256`` that of the
    file.
    """

    sentences: int
    sha256: str
    input: str
    seconds: float


class OutputFolder:
    """Files of parts with their receipts; a receipt is written when its part is complete."""

    def __init__(self, folder: str | Path, suffix: str, *, n_parts: int) -> None:
        self.folder = Path(folder)
        self._suffix = suffix
        self._digits = max(_MIN_DIGITS, len(str(max(0, n_parts - 1))))

    def part(self, number: int) -> Path:
        """The file of a part."""
        return self.folder / f"part-{number:0{self._digits}}.{self._suffix}"

    def _receipt(self, number: int) -> Path:
        return self.part(number).with_suffix(".done")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and hold its lock."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{self.folder}: cannot be written: {error.strerror}") from error
        refusal = f"{self.folder}: another process is annotating here; wait for it"
        try:
            with locked_folder(self.folder, refusal):
                yield
        except PermissionError as error:
            raise DataError(f"{self.folder}: cannot be written: {error.strerror}") from error

    def start(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest, or check that an existing one is the same. A folder without a
        finished part is begun anew.
        """
        path = self.folder / MANIFEST
        if not path.exists():
            self._check_empty()
        else:
            found = _read_manifest(path)
            has_finished_parts = any(self.folder.glob("part-*.done"))
            if has_finished_parts:
                _check_same(found, manifest, self.folder)
            _discard_all(self.folder, ".part-*.part")  # of processes that were killed
            if has_finished_parts:
                return
            _discard_all(self.folder, "part-*")
        _write(path, lambda temporary: _write_json(temporary, manifest, indent=1))

    def _check_empty(self) -> None:
        found = next((p.name for p in self.folder.iterdir() if not p.name.startswith(".")), None)
        if found is not None:
            raise RunError(
                f"{self.folder}: expected an empty folder or one with {MANIFEST}, found {found}; "
                "choose another --output"
            )

    def receipt(self, part: InputPart) -> Receipt | None:
        """The receipt of a part; None if the part has to be labeled: it was never finished, or its
        file is not as it was written.
        """
        path = self._receipt(part.number)
        try:
            receipt = Receipt(**json.loads(path.read_text("utf-8")))
            if (
                receipt.input != part.digest
                or file_digest(self.part(part.number)) != receipt.sha256
            ):
                return None
        except (OSError, ValueError, TypeError, DataError):
            return None
        return receipt

    def write_part(
        self, part: InputPart, write: Callable[[Path], int], seconds: Callable[[], float]
    ) -> Receipt:
        """Have ``write`` write the file of a part, then write its receipt. Either appears
        completely or not at all.

        ``write`` returns the number of sentences, ``seconds`` the time that the part took.
        """
        path = self.part(part.number)
        discard(self._receipt(part.number))
        facts: list[tuple[int, str]] = []

        def write_file(temporary: Path) -> None:
            n_sentences = write(temporary)
            facts.append((n_sentences, file_digest(temporary)))

        _write(path, write_file)
        ((n_sentences, sha256),) = facts
        receipt = Receipt(n_sentences, sha256, part.digest, round(seconds(), 3))
        _write(
            self._receipt(part.number),
            lambda temporary: _write_json(temporary, asdict(receipt), indent=None),
        )
        return receipt


def _discard_all(folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        discard(path)


def _write(path: Path, write: Callable[[Path], None]) -> None:
    try:
        with atomic_path(path) as temporary:
            write(temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
    except OSError as error:
        reason = error.strerror or str(error).strip()
        raise DataError(
            f"{path}: cannot be written: {reason}; finished parts are kept, run the same command "
            "again to resume"
        ) from error


def _write_json(path: Path, value: Mapping[str, Any], *, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError:
        content = None
    if not isinstance(content, dict) or not {"format", "model", "inputs"} <= content.keys():
        raise RunError(
            f"{path}: expected the manifest of an annotation, found something else; choose another "
            "--output"
        )
    return content


def _check_same(found: Mapping[str, Any], expected: Mapping[str, Any], folder: Path) -> None:
    """Refuse the manifest of another annotation; say what differs."""
    files = {i.get("file"): i for i in found.get("inputs", ()) if isinstance(i, dict)}
    names = [i["file"] for i in expected["inputs"]]
    if list(files) == names:
        for source in expected["inputs"]:
            if files[source["file"]].get("sha256") != source["sha256"]:
                raise RunError(
                    f"{source['file']}: expected the file that {folder} was begun with, found it "
                    "changed; restore it, or choose another --output"
                )
    else:
        raise RunError(f"{folder}: was begun with other files; choose another --output")
    for key in dict.fromkeys((*expected, *found)):
        before, now = found.get(key), expected.get(key)
        if before != now:
            raise RunError(
                f"{folder}: expected {key} {_short(before)}, as when it was begun, found "
                f"{_short(now)}; use the same command, or choose another --output"
            )


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
