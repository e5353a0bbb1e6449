"""Reads CoNLL column files: a word a line, a blank line between sentences."""

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
_CONLLU_COLUMNS = 10  # ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC: none holds tags
_BLANKS = re.compile("[ \t]+")  # not \s: a no-break space is part of a word

_Row: TypeAlias = tuple[int, str, str | None]  # number of the line, word, tag


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what, counted from 0, or from the end with -1.

    None leaves it to the file: the first column holds the word and the last the tag (no tag where
    there is but one column); where sentences begin with ``#`` comments and words are numbered, as
    in CoNLL-U and Universal NER, the second holds the word and the third the tag. ``comments``
    says whether lines that begin with ``#`` before a sentence are comments.
    """

    word: int | None = None
    tag: int | None = None
    comments: bool | None = None


@dataclass(frozen=True, slots=True)
class _Form:
    """What the first lines of a file tell about all of it."""

    tabbed: bool
    n_columns: int
    word: int
    tag: int | None
    numbered: bool
    comments: bool

    def split(self, line: str) -> list[str]:
        return _cells(line, tabbed=self.tabbed)


def sentences_from_columns(
    lines: Iterable[NumberedLine], source: str, columns: Columns, log: ReadingLog
) -> Iterator[Sentence]:
    """The sentences of a column file; blank lines and ``-DOCSTART-`` lines end one."""
    lines = iter(lines)
    head = list(_up_to_first_word(lines))
    form = _form_of(head, source, columns)
    rows: list[_Row] = []
    for number, line in itertools.chain(head, lines):
        if line.startswith(DOCUMENT_START):
            log.documents += 1
        elif not _is_blank(line):
            if not (form.comments and line.startswith("#") and (form.numbered or not rows)):
                row = _row(line, number, source, form, log)
                if row is not None:
                    rows.append(row)
            continue
        if rows:
            yield _sentence(rows, source, log)
            rows = []
    if rows:
        yield _sentence(rows, source, log)


def _cells(line: str, *, tabbed: bool) -> list[str]:
    if tabbed:
        return line.split("\t")
    line = line.strip(" \t")
    return _BLANKS.split(line) if "\t" in line or "  " in line else line.split(" ")


def _is_blank(line: str) -> bool:
    return "\t" not in line and not line.strip(" ")


def _up_to_first_word(lines: Iterator[NumberedLine]) -> Iterator[NumberedLine]:
    """The lines up to the first that can only be a word."""
    for number, line in lines:
        yield number, line
        if not _is_blank(line) and not line.startswith(("#", DOCUMENT_START)):
            return


def _form_of(head: list[NumberedLine], source: str, columns: Columns) -> _Form:
    """Tell the form from the lines up to the first word."""
    written = [(n, line) for n, line in head if not _is_blank(line)]
    written = [(n, line) for n, line in written if not line.startswith(DOCUMENT_START)]
    if not written:
        return _Form(tabbed=False, n_columns=1, word=0, tag=None, numbered=False, comments=False)
    number, line = written[-1]
    hash_lines = [line for _, line in written if line.startswith("#")]
    tabbed = "\t" in line
    cells = _cells(line, tabbed=tabbed)
    numbered = (
        tabbed
        and len(cells) > 2
        and re.fullmatch(r"1(-\d+)?|0\.1", cells[0]) is not None
        and any("\t" not in line for line in hash_lines)
    )
    default_tag: int | None = len(cells) - 1 if len(cells) > 1 else None
    if numbered:
        default_tag = 2 if len(cells) < _CONLLU_COLUMNS else None
    comments = numbered if columns.comments is None else columns.comments
    place = f"{source}:{number}"
    word = int(numbered) if columns.word is None else _position(columns.word, len(cells), place)
    tag = default_tag if columns.tag is None else _position(columns.tag, len(cells), place)
    return _Form(tabbed, len(cells), word, tag, numbered, comments)


def _position(column: int, n_columns: int, place: str) -> int:
    """A column that the user chose, as a position from 0."""
    if not -n_columns <= column < n_columns:
        raise DataError(
            f"{place}: expected a column {column}, found {n_columns} columns (counted from 0)"
        )
    return column % n_columns


def _row(line: str, number: int, source: str, form: _Form, log: ReadingLog) -> _Row | None:
    """The word and tag of a line; None where CoNLL-U repeats words (``2-3``) or adds (``2.1``)."""
    cells = form.split(line)
    place = f"{source}:{number}"
    if len(cells) != form.n_columns:
        if len(cells) == 1:
            raise DataError(f"{place}: expected a word and a tag, found only {cells[0][:80]!r}")
        mend = "; is it a comment? then say --comments" if line.startswith("#") else ""
        expected = f"{form.n_columns} columns, as many as the first word has"
        raise DataError(f"{place}: expected {expected}, found {len(cells)}{mend}")
    if form.numbered and not cells[0].isdecimal():
        if not re.fullmatch(r"\d+[-.]\d+", cells[0]):
            raise DataError(f"{place}: expected the number of a word, found {cells[0][:80]!r}")
        return None
    word = cells[form.word]
    if not word:
        raise DataError(f"{place}: expected a word, found an empty column")
    tag = None if form.tag is None else cells[form.tag]
    if tag is not None:
        log.check_tag(tag, place)
    return number, word, tag


def _sentence(rows: list[_Row], source: str, log: ReadingLog) -> Sentence:
    numbers, words, tags = zip(*rows, strict=True)
    labeled = tags[0] is not None
    spans = log.spans(tags, source, numbers) if labeled else None
    return Sentence(words, spans, origin=Origin(source, numbers[0]))
