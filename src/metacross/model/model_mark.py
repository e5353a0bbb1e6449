"""What a model folder says of itself, read without its weights."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from metacross.errors import ModelError, SettingsError
from metacross.model.baseline_record import baseline_facts
from metacross.model.datastore import SENTENCE_ENCODER, SOURCE
from metacross.model.model_card import ModelDescription
from metacross.model.training_facts import facts_from_json
from metacross.settings import Settings, validated

FORMAT = 1
MARK = "metacross.json"  # written last: a folder with it is complete


def mark_text(model: ModelDescription, tagger: str | None = None) -> str:
    """The text of ``metacross.json``. ``tagger`` is the kind of a tagger without an encoder."""
    mark: dict[str, Any] = {"format": FORMAT, "labels": model.labels, "adapts": model.adapts}
    if tagger is not None:
        mark["tagger"] = tagger
    if model.facts is not None:
        mark["training"] = model.facts.model_dump(mode="json")
    return json.dumps(mark, indent=2, ensure_ascii=False) + "\n"


def read_mark(folder: Path) -> dict[str, Any]:
    """The content of ``metacross.json``."""
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing there"
        raise ModelError(f"{folder}: expected a model folder, found {found}")
    if not is_model_folder(folder):
        hint = "; its training is not finished" if (folder / "training").exists() else ""
        raise ModelError(f"{folder}: expected {MARK} in the model folder, found none{hint}")
    mark = _read(folder / MARK, json.loads)
    if not isinstance(mark, dict) or not {"format", "labels", "adapts"} <= mark.keys():
        raise ModelError(f"{folder / MARK}: expected format, labels and adapts, found {mark!r}")
    if mark["format"] != FORMAT:
        raise ModelError(
            f"{folder}: expected a model of format {FORMAT}, found {mark['format']}; "
            f"a newer metacross wrote it"
        )
    return mark


def is_model_folder(folder: str | Path) -> bool:
    """Whether a folder holds a complete model."""
    return (Path(folder) / MARK).exists()


def describe_model(folder: str | Path) -> ModelDescription:
    """What a model folder says of itself, without loading its weights."""
    folder = Path(folder)
    mark = read_mark(folder)
    has_datastore = (folder / SOURCE).exists()
    return ModelDescription(
        labels=tuple(mark["labels"]),
        adapts=bool(mark["adapts"]) and has_datastore,
        has_datastore=has_datastore,
        settings=saved_settings(folder),
        facts=facts_from_json(mark.get("training")),
        tagger=tagger_kind(folder),
        baseline=baseline_facts(folder),
    )


def saved_labels(folder: str | Path) -> tuple[str, ...]:
    """The entity types of a model, read without loading it."""
    return tuple(read_mark(Path(folder))["labels"])


def tagger_kind(folder: str | Path) -> str | None:
    """The kind of a model's tagger; None: an encoder with a linear layer."""
    kind = read_mark(Path(folder)).get("tagger")
    return None if kind is None else str(kind)


def saved_settings(folder: str | Path, device: str = "auto") -> Settings:
    """The settings of a model folder."""
    folder = Path(folder)
    values = _read(folder / "recipe.yaml", yaml.safe_load)
    if not isinstance(values, dict):
        raise ModelError(f"{folder / 'recipe.yaml'}: expected settings, found {values!r}")
    values.setdefault("run", {}).update(
        device=device, threads=None, gradient_folder=None
    )  # of this machine
    values.setdefault("encoder", {}).setdefault("words", "given")  # as before there was a choice
    try:
        return validated(Settings, values)
    except SettingsError as problem:
        raise ModelError(f"{folder / 'recipe.yaml'}: {problem}") from problem


def _read(path: Path, parse: Callable[[str], Any]) -> Any:  # noqa: ANN401 - JSON or YAML
    try:
        return parse(path.read_text("utf-8"))
    except OSError as problem:
        raise ModelError(f"{path}: cannot be read: {problem.strerror}") from problem
    except (ValueError, yaml.YAMLError) as problem:
        reason = " ".join(str(problem).split())[:200]
        raise ModelError(f"{path}: cannot be parsed: {reason}") from problem


def model_files(folder: str | Path) -> list[Path]:
    """The files of a model, relative to its folder; the mark of a complete folder is last.

    Checkpoints and other folders that training or users put there do not belong to the model.
    """
    folder = Path(folder)
    read_mark(folder)
    paths = [*folder.iterdir(), *(folder / SENTENCE_ENCODER).glob("*")]
    files = {path.relative_to(folder) for path in paths if path.is_file()}
    visible = sorted(file for file in files if not file.name.startswith("."))
    of_parts = [
        Path(part.name, file) for part in part_folders(folder) for file in model_files(part)
    ]
    return sorted([*of_parts, *visible], key=lambda file: file == Path(MARK))


def part_folders(folder: Path) -> list[Path]:
    """The folders of the models that a model is made of: 0, 1 ..."""
    if tagger_kind(folder) is None:
        return []
    numbered = sorted(path for path in folder.iterdir() if path.name.isdecimal())
    return [path for path in numbered if is_model_folder(path)]


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before hours of training."""
    if folder.is_file():
        raise ModelError(f"{folder}: expected a folder to write to, found a file")
    probe = folder / f".probe.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text("")
    except OSError as problem:
        raise ModelError(f"{folder}: cannot be written: {problem.strerror}") from problem
    probe.unlink(missing_ok=True)
