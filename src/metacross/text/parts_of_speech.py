"""Reads sentences with the parts of speech of their words from CoNLL-U files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from metacross.errors import DataError
from metacross.text.lines import NumberedLine, numbered_lines
from metacross.text.resource_files import opened
from metacross.text.sentence import Sentence

PARTS_OF_SPEECH = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
"""The universal parts of speech."""
_COLUMNS = 10  # ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC
_NOT_A_WORD = re.compile(r"\d+-\d+|\d+\.\d+")  # several words in one, or a word that is left out


@dataclass(frozen=True, slots=True)
class PosSentence:
    """A sentence and the numbers of its words' parts of speech in ``PARTS_OF_SPEECH``."""

    sentence: Sentence
    pos_ids: tuple[int, ...]


def read_parts_of_speech(path: str | Path, *, language: str | None = None) -> list[PosSentence]:
    """Read the columns FORM and UPOS of a CoNLL-U file; one whose name ends in ``.gz`` is
    decompressed.
    """
    with opened(path) as stream:
        lines = numbered_lines(stream, str(path), "utf-8")
        sentences = list(_sentences(lines, str(path), language))
    if not sentences:
        raise DataError(f"{path}: expected sentences with parts of speech, found none")
    return sentences


def _sentences(
    lines: Iterable[NumberedLine], source: str, language: str | None
) -> Iterator[PosSentence]:
    words: list[str] = []
    pos_ids: list[int] = []
    for number, line in chain(lines, [(0, "")]):  # an empty line ends the last sentence
        if line.strip():
            _add_word(line, f"{source}:{number}", words, pos_ids)
        elif words:
            yield PosSentence(Sentence(tuple(words), language=language), tuple(pos_ids))
            words, pos_ids = [], []


def _add_word(line: str, place: str, words: list[str], pos_ids: list[int]) -> None:
    """Add the word of a line; comments, contracted words and left-out ones add none."""
    if line.startswith("#") and not words:
        return
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise DataError(
            f"{place}: expected {_COLUMNS} columns of CoNLL-U with tabs, found {len(columns)}"
        )
    word_number, word, _, pos, *_ = columns
    if _NOT_A_WORD.fullmatch(word_number):
        return
    if word_number != str(len(words) + 1):
        raise DataError(
            f"{place}: expected word number {len(words) + 1}, or an empty line before the next "
            f"sentence, found {word_number[:40]!r}"
        )
    if not word:
        raise DataError(f"{place}: expected a word in column 2, found none")
    if pos not in PARTS_OF_SPEECH:
        raise DataError(
            f"{place}: expected a part of speech of {', '.join(PARTS_OF_SPEECH)} in column 4, "
            f"found {pos[:40]!r}"
        )
    words.append(word)
    pos_ids.append(PARTS_OF_SPEECH.index(pos))
