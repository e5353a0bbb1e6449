"""Reads CoNLL column files: one word per line, a blank line between sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from metacross.errors import DataError
from metacross.text.lines import NumberedLine
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin, Sentence

DOCUMENT_START = "-DOCSTART-"
_CONLLU_COLUMNS = 10  # ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC: no column for tags
_BLANKS = re.compile("[ \t]+")  # not \s: a no-break space is part of a word

_Row: TypeAlias = tuple[int, str, str | None]  # line number, word, tag


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold the word and the tag, counted from 0, or from the end with -1.

    None means: detect it in the file. By default the first column is the word and the last the
    tag; a file with one column has no tags. If sentences begin with ``#`` comments and words are
    numbered, as in CoNLL-U and Universal NER, the second column is the word and the third the tag.
    ``comments`` says whether lines that begin with ``#`` before a sentence are comments.
    """

    word: int | None = None
    tag: int | None = None
    comments: bool | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file writes its columns, detected in its first lines."""

    tabbed: bool
    n_columns: int
    word: int
    tag: int | None
    numbered: bool
    comments: bool

    def split(self, line: str) -> list[str]:
        """The fields of a line."""
        return _fields(line, tabbed=self.tabbed)

    def is_comment(self, line: str, *, inside_sentence: bool) -> bool:
        """Whether a line is a comment."""
        allowed_here = self.numbered or not inside_sentence
        return self.comments and line.startswith("#") and allowed_here


def detected_dialect(lines: Iterable[NumberedLine], source: str, columns: Columns) -> Dialect:
    """Detect the dialect in the first lines of a file."""
    return _dialect_of(list(_up_to_first_word(iter(lines))), source, columns)


def sentences_from_columns(
    lines: Iterable[NumberedLine], source: str, columns: Columns, log: ReadingLog
) -> Iterator[Sentence]:
    """Yield the sentences of a column file. A blank or ``-DOCSTART-`` line ends a sentence."""
    lines = iter(lines)
    first_lines = list(_up_to_first_word(lines))
    dialect = _dialect_of(first_lines, source, columns)
    yield from sentences_in_dialect(itertools.chain(first_lines, lines), source, dialect, log)


def sentences_in_dialect(
    lines: Iterable[NumberedLine], source: str, dialect: Dialect, log: ReadingLog
) -> Iterator[Sentence]:
    """Yield the sentences of lines that need not be the first ones of their file."""
    rows: list[_Row] = []
    for number, line in lines:
        if line.startswith(DOCUMENT_START):
            log.documents += 1
        elif not is_blank(line):
            if not dialect.is_comment(line, inside_sentence=bool(rows)):
                row = _row(line, number, source, dialect, log)
                if row is not None:
                    rows.append(row)
            continue
        if rows:
            yield _sentence(rows, source, log)
            rows = []
    if rows:
        yield _sentence(rows, source, log)


def _fields(line: str, *, tabbed: bool) -> list[str]:
    if tabbed:
        return line.split("\t")
    line = line.strip(" \t")
    return _BLANKS.split(line) if "\t" in line or "  " in line else line.split(" ")


def is_blank(line: str) -> bool:
    """Whether a line ends a sentence."""
    return "\t" not in line and not line.strip(" ")


def _up_to_first_word(lines: Iterator[NumberedLine]) -> Iterator[NumberedLine]:
    """The lines up to the first one that must be a word."""
    for number, line in lines:
        yield number, line
        if not is_blank(line) and not line.startswith(("#", DOCUMENT_START)):
            return


def _dialect_of(first_lines: list[NumberedLine], source: str, columns: Columns) -> Dialect:
    """Detect the dialect in the lines up to the first word."""
    content = [(n, line) for n, line in first_lines if not is_blank(line)]
    content = [(n, line) for n, line in content if not line.startswith(DOCUMENT_START)]
    if not content:
        return Dialect(tabbed=False, n_columns=1, word=0, tag=None, numbered=False, comments=False)
    number, line = content[-1]
    hash_lines = [line for _, line in content if line.startswith("#")]
    tabbed = "\t" in line
    fields = _fields(line, tabbed=tabbed)
    numbered = (
        tabbed
        and len(fields) > 2
        and re.fullmatch(r"1(-\d+)?|0\.1", fields[0]) is not None
        and any("\t" not in line for line in hash_lines)
    )
    default_tag: int | None = len(fields) - 1 if len(fields) > 1 else None
    if numbered:
        default_tag = 2 if len(fields) < _CONLLU_COLUMNS else None
    comments = numbered if columns.comments is None else columns.comments
    place = f"{source}:{number}"
    word = int(numbered) if columns.word is None else _position(columns.word, len(fields), place)
    tag = default_tag if columns.tag is None else _position(columns.tag, len(fields), place)
    return Dialect(tabbed, len(fields), word, tag, numbered, comments)


def _position(column: int, n_columns: int, place: str) -> int:
    """A column chosen by the user, as a position from 0."""
    if not -n_columns <= column < n_columns:
        raise DataError(
            f"{place}: expected a column {column}, found {n_columns} columns (counted from 0)"
        )
    return column % n_columns


def _row(line: str, number: int, source: str, dialect: Dialect, log: ReadingLog) -> _Row | None:
    """The word and tag of a line; None for multiword (``2-3``) and empty (``2.1``) tokens."""
    fields = dialect.split(line)
    place = f"{source}:{number}"
    if len(fields) != dialect.n_columns:
        if len(fields) == 1:
            raise DataError(f"{place}: expected a word and a tag, found only {fields[0][:80]!r}")
        hint = "; if this line is a comment, add --comments" if line.startswith("#") else ""
        expected = f"{dialect.n_columns} columns, as for the first word"
        raise DataError(f"{place}: expected {expected}, found {len(fields)}{hint}")
    if dialect.numbered and not fields[0].isdecimal():
        if not re.fullmatch(r"\d+[-.]\d+", fields[0]):
            raise DataError(f"{place}: expected the number of a word, found {fields[0][:80]!r}")
        return None
    word = fields[dialect.word]
    if not word:
        raise DataError(f"{place}: expected a word, found an empty column")
    tag = None if dialect.tag is None else log.checked_tag(fields[dialect.tag], place)
    return number, word, tag


def _sentence(rows: list[_Row], source: str, log: ReadingLog) -> Sentence:
    numbers, words, tags = zip(*rows, strict=True)
    origin = Origin(source, numbers[0])
    if tags[0] is None:
        return Sentence(words, None, origin=origin)
    return Sentence(words, log.spans(tags, source, numbers), origin=origin, tags=tags)
