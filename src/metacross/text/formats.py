"""The names of the formats that corpora are read from and written in."""

from __future__ import annotations

from enum import Enum
from pathlib import Path


class Format(str, Enum):
    """The format of a corpus."""

    CONLL = "conll"
    JSONL = "jsonl"
    TEXT = "text"
    HUB = "hub"
    LABEL_STUDIO = "label-studio"
    DOCCANO = "doccano"
    PRODIGY = "prodigy"
    BRAT = "brat"
    CONLLU = "conllu"
    ARGILLA = "argilla"

    def __str__(self) -> str:
        return self.value


class WritableFormat(str, Enum):
    """A format that corpora are written in."""

    CONLL = "conll"
    JSONL = "jsonl"
    LABEL_STUDIO = "label-studio"
    DOCCANO = "doccano"
    PRODIGY = "prodigy"
    BRAT = "brat"
    CONLLU = "conllu"
    ARGILLA = "argilla"

    def __str__(self) -> str:
        return self.value

    @property
    def is_json_list(self) -> bool:
        """Whether a file is one JSON list."""
        return self in (WritableFormat.LABEL_STUDIO, WritableFormat.ARGILLA)


class BulkFormat(str, Enum):
    """A format of which any part can be read without the parts before it."""

    TEXT = "text"
    JSONL = "jsonl"
    CONLL = "conll"
    CONLLU = "conllu"
    PARQUET = "parquet"

    def __str__(self) -> str:
        return self.value


class BulkOutput(str, Enum):
    """A format of annotated parts; also the suffix of their files."""

    JSONL = "jsonl"
    PARQUET = "parquet"

    def __str__(self) -> str:
        return self.value


JSON_TOOLS = frozenset({Format.LABEL_STUDIO, Format.DOCCANO, Format.PRODIGY, Format.ARGILLA})
"""Formats whose files are JSON, as one list or as lines."""

_SUFFIXES = {
    ".conll": Format.CONLL,
    ".conllu": Format.CONLLU,
    ".iob": Format.CONLL,
    ".iob2": Format.CONLL,
    ".bio": Format.CONLL,
    ".bioes": Format.CONLL,
    ".tsv": Format.CONLL,
    ".jsonl": Format.JSONL,
    ".json": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".ann": Format.BRAT,
}


def format_of_suffix(path: str | Path) -> Format | None:
    """The format that the suffix of a file means; None if it says nothing. JSON may be that of an
    annotation tool.
    """
    return _SUFFIXES.get(Path(path).suffix.lower())


def written_format(path: str | Path) -> WritableFormat:
    """The format in which a file is written if none is named.

    >>> str(written_format("es.jsonl")), str(written_format("es.ann")), str(written_format("es"))
    ('jsonl', 'brat', 'conll')
    """
    found = format_of_suffix(path)
    return WritableFormat(found.value) if found is not None else WritableFormat.CONLL
