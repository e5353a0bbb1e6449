"""Reads data sets with the Hugging Face ``datasets`` library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metacross.errors import DataError, MetacrossError
from metacross.text.jsonl import sentence_from_record
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin, Sentence

PREFIX = "hub:"


def sentences_from_dataset(
    source: str, log: ReadingLog, *, language: str | None = None
) -> Iterator[Sentence]:
    """Yield the sentences of ``hub:NAME[:CONFIG][@SPLIT]``, where NAME is on the hub or a folder.

    Rows are numbered from 1, like lines.
    """
    dataset = _one_split(source)
    tag_names = _tag_names(dataset.features)
    for number, record in enumerate(dataset, start=1):
        sentence = sentence_from_record(
            dict(record), Origin(source, number), log, language=language, tag_names=tag_names
        )
        if sentence is not None:
            yield sentence


def _one_split(source: str) -> Any:  # noqa: ANN401 - datasets has no types
    name, _, split = source.removeprefix(PREFIX).partition("@")
    loaded = _loaded(name, source)
    if not hasattr(loaded, "keys"):
        return loaded
    splits = list(loaded.keys())
    if not split and len(splits) == 1:
        split = splits[0]
    if split not in splits:
        found = repr(split) if split else "none"
        raise DataError(
            f"{source}: expected a split of {', '.join(splits)}, found {found}; "
            f"write for example {PREFIX}{name}@{splits[0]}"
        )
    return loaded[split]


def _loaded(name: str, source: str) -> Any:  # noqa: ANN401 - datasets has no types
    try:
        import datasets
    except ImportError:
        raise MetacrossError(
            f"{source}: datasets is not installed: pip install 'metacross[hub]'"
        ) from None
    folder = Path(name)
    try:
        if (folder / "dataset_dict.json").exists() or (folder / "state.json").exists():
            return datasets.load_from_disk(name)
        repository, _, config = name.partition(":")
        return datasets.load_dataset(repository, config or None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(f"{source}: the data set cannot be loaded: {lines[0]}") from error


def _tag_names(features: Any) -> list[str] | None:  # noqa: ANN401 - datasets has no types
    """The names of numbered tags; None if the tags are strings."""
    for key in ("tags", "ner_tags"):
        tag_feature = getattr(features.get(key), "feature", None)
        names = getattr(tag_feature, "names", None)
        if names is not None:
            return list(names)
    return None
