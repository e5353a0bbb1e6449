"""Reads labeled sentences through the Hugging Face ``datasets`` library."""

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
    """The sentences of ``hub:NAME[:CONFIG][@SPLIT]``, NAME being a hub name or a local folder.

    Rows are numbered from 1, as lines are.
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
        mend = f"{PREFIX}{name}@{splits[0]}"
        raise DataError(f"{source}: expected a split of {', '.join(splits)}, found {found}: {mend}")
    return loaded[split]


def _loaded(name: str, source: str) -> Any:  # noqa: ANN401 - datasets has no types
    try:
        import datasets
    except ImportError:
        raise MetacrossError(
            f"{source}: reading data sets needs the 'hub' extra: pip install 'metacross[hub]'"
        ) from None
    folder = Path(name)
    try:
        if (folder / "dataset_dict.json").exists() or (folder / "state.json").exists():
            return datasets.load_from_disk(name)
        repository, _, config = name.partition(":")
        return datasets.load_dataset(repository, config or None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as problem:
        first_line = str(problem).strip().splitlines()[0] if str(problem).strip() else "no reason"
        raise DataError(
            f"{source}: expected a data set, but it cannot be loaded: {first_line}"
        ) from (problem)


def _tag_names(features: Any) -> list[str] | None:  # noqa: ANN401 - datasets has no types
    """The names of numbered tags; None where the data set holds the tags themselves."""
    for key in ("tags", "ner_tags"):
        inner = getattr(features.get(key), "feature", None)
        names = getattr(inner, "names", None)
        if names is not None:
            return list(names)
    return None
