"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from metacross.errors import SettingsError
from metacross.text.conll import Columns
from metacross.text.reading import Format, ReadOptions, read_corpus
from metacross.text.sentence import Corpus

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LanguageOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--language", help="Language code, such as es."),
]
FormatOption: TypeAlias = Annotated[
    Format | None, typer.Option("--format", help="Read as this format instead of finding it out.")
]
EncodingOption: TypeAlias = Annotated[
    str, typer.Option("--encoding", help="Encoding of the files, such as latin-1.")
]
WordColumnOption: TypeAlias = Annotated[
    int | None, typer.Option("--word-column", help="Column of the word, counted from 0 (-1: last).")
]
TagColumnOption: TypeAlias = Annotated[
    int | None, typer.Option("--tag-column", help="Column of the tag, counted from 0 (-1: last).")
]
CommentsOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--comments/--no-comments",
        help="Whether # lines before a sentence are comments. Default: if words are numbered.",
    ),
]
TagNamesOption: TypeAlias = Annotated[
    str | None, typer.Option("--tag-names", help="Names of numbered tags in order: O,B-PER,I-PER.")
]
MapOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--map", help="Rename an entity type: person=PER. Repeatable.")
]
DropOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--drop", help="Make an entity type O: MISC. Repeatable.")
]


def read_options(
    format_: Format | None,
    encoding: str,
    columns: Columns,
    tag_names: str | None,
) -> ReadOptions:
    """Put the options of a command together."""
    names = None if tag_names is None else tuple(name.strip() for name in tag_names.split(","))
    return ReadOptions(format_, encoding, columns, names)


def new_labels(renamed: list[str] | None, dropped: list[str] | None) -> dict[str, str | None]:
    """What ``--map`` and ``--drop`` ask for.

    >>> new_labels(["person=PER"], ["MISC"])
    {'person': 'PER', 'MISC': None}
    """
    labels: dict[str, str | None] = {}
    for pair in renamed or ():
        old, sign, new = pair.partition("=")
        if not old or not sign or not new:
            raise SettingsError(f"--map: expected OLD=NEW, as in person=PER, found {pair!r}")
        labels[old] = new
    labels.update(dict.fromkeys(dropped or ()))
    return labels


def read_relabeled(
    source: str | Path,
    options: ReadOptions,
    labels: dict[str, str | None],
    language: str | None = None,
) -> Corpus:
    """Read a corpus with its types renamed."""
    corpus = read_corpus(source, language=language, options=options)
    return corpus.relabeled(labels) if labels else corpus
