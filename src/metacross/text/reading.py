"""Finds the format of a corpus and reads it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from metacross.errors import DataError
from metacross.text.conll import DOCUMENT_START, Columns, sentences_from_columns
from metacross.text.hub_datasets import PREFIX, sentences_from_dataset
from metacross.text.jsonl import sentences_from_json
from metacross.text.lines import NumberedLine, numbered_lines
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Corpus, Layout, Origin, Sentence
from metacross.text.word_splitting import split_text


class Format(str, Enum):
    """How a corpus is written down."""

    CONLL = "conll"
    JSONL = "jsonl"
    TEXT = "text"
    HUB = "hub"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a file does not say of itself. ``format`` is None where it is to be found out."""

    format: Format | None = None
    encoding: str = "utf-8"
    columns: Columns = field(default_factory=Columns)
    tag_names: tuple[str, ...] | None = None


_SUFFIXES = {
    ".conll": Format.CONLL,
    ".conllu": Format.CONLL,
    ".iob": Format.CONLL,
    ".iob2": Format.CONLL,
    ".bio": Format.CONLL,
    ".bioes": Format.CONLL,
    ".tsv": Format.CONLL,
    ".jsonl": Format.JSONL,
    ".json": Format.JSONL,
    ".ndjson": Format.JSONL,
}
_TAG_AT_END = re.compile(r"[ \t](?:O|[A-Z]-\S+)[ \t]*$")


def read_corpus(
    source: str | Path, *, language: str | None = None, options: ReadOptions | None = None
) -> Corpus:
    """Read a file, or a data set named ``hub:NAME[:CONFIG][@SPLIT]``.

    CoNLL columns, JSON lines and raw text (a sentence a line) are told apart by the file's suffix
    or else its first lines; ``options`` overrides that.
    """
    options = options or ReadOptions()
    name, log = str(source), ReadingLog()
    sentences = tuple(_drawn(source, log, language, options))
    if not sentences:
        raise DataError(f"{name}: expected sentences, found none")
    return Corpus(sentences, source=name, notes=log.notes)


def read_stream(
    stream: BinaryIO,
    source: str,
    *,
    language: str | None = None,
    options: ReadOptions | None = None,
    log: ReadingLog | None = None,
    sniffed_lines: int = 200,
) -> Iterator[Sentence]:
    """Sentences as their lines arrive; ``source`` names the stream in messages.

    Only the first sentence waits for more lines, ``sniffed_lines`` at most, where the format has
    to be found out.
    """
    options, log = options or ReadOptions(), log or ReadingLog()
    lines = numbered_lines(stream, source, options.encoding)
    format_, lines = _format_of(lines, source, options, sniffed_lines)
    if format_ is Format.CONLL:
        for sentence in sentences_from_columns(lines, source, options.columns, log):
            yield replace(sentence, language=language)
    elif format_ is Format.JSONL:
        yield from sentences_from_json(
            lines, source, log, language=language, tag_names=options.tag_names
        )
    else:
        yield from _sentences_from_text(lines, source, language)


def _drawn(
    source: str | Path, log: ReadingLog, language: str | None, options: ReadOptions
) -> Iterator[Sentence]:
    name = str(source)
    path = Path(source)
    if name.startswith(PREFIX) or options.format is Format.HUB:
        yield from sentences_from_dataset(name, log, language=language)
    elif path.is_dir():
        if not any((path / known).exists() for known in ("dataset_dict.json", "state.json")):
            raise DataError(f"{name}: expected a file or a saved data set, found a folder")
        yield from sentences_from_dataset(name, log, language=language)
    else:
        try:
            with path.open("rb") as stream:
                yield from read_stream(stream, name, language=language, options=options, log=log)
        except OSError as problem:
            raise DataError(f"{name}: cannot be read: {problem.strerror}") from problem


def _format_of(
    lines: Iterator[NumberedLine], source: str, options: ReadOptions, sniffed_lines: int
) -> tuple[Format, Iterator[NumberedLine]]:
    """The format, and the lines with those looked at put back."""
    by_suffix = _SUFFIXES.get(Path(source).suffix.lower())
    known = options.format or by_suffix
    if known is not None:
        return known, lines
    head = list(itertools.islice(lines, sniffed_lines))
    return sniffed_format([line for _, line in head]), itertools.chain(head, lines)


def sniffed_format(lines: list[str]) -> Format:
    """Tell the format from some lines: most lines of a CoNLL file end in a tag.

    >>> sniffed_format(["Ginebra B-LOC", ", O"]), sniffed_format(["Vitamin O is no vitamin ."])
    (<Format.CONLL: 'conll'>, <Format.TEXT: 'text'>)
    """
    written = [line for line in lines if line.strip()]
    if written and written[0].lstrip().startswith(("{", "[{", '["')):
        return Format.JSONL
    if any(line.startswith(DOCUMENT_START) for line in written):
        return Format.CONLL
    words = [line for line in written if not line.startswith("# ")]
    tagged = sum(_TAG_AT_END.search(line) is not None or line[:2] == "1\t" for line in words)
    return Format.CONLL if 2 * tagged > len(words) else Format.TEXT


def _sentences_from_text(
    lines: Iterable[NumberedLine], source: str, language: str | None
) -> Iterator[Sentence]:
    for number, line in lines:
        layout = split_text(line, language)
        if layout.offsets:
            yield unlabeled(layout, language, Origin(source, number))


def unlabeled(layout: Layout, language: str | None, origin: Origin | None = None) -> Sentence:
    """A sentence of the words cut out of a text, with no entities marked."""
    words = tuple(layout.text[start:end] for start, end in layout.offsets)
    return Sentence(words, None, language, origin, layout)
