"""Reads English sentences with their translations."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from metacross.errors import DataError
from metacross.text.lines import numbered_lines
from metacross.text.reading import unlabeled
from metacross.text.sentence import Origin, Sentence
from metacross.text.word_splitting import split_text


def read_translation_pairs(
    path: Path, language: str, *, source: str | None = None, limit: int | None = None
) -> list[tuple[Sentence, Sentence]]:
    """The first ``limit`` pairs of a file with the columns English, translation, source.

    ``source`` keeps only the lines with this value in the last column; None keeps all.
    """
    try:
        with path.open("rb") as stream:
            lines = numbered_lines(stream, str(path), "utf-8")
            parsed = (
                _pair(line, language, Origin(str(path), number))
                for number, line in lines
                if source is None or line.endswith(f"\t{source}")
            )
            pairs = list(islice(parsed, limit))
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror}") from problem
    if len(pairs) < 2:
        raise DataError(f"{path}: expected at least two pairs of sentences, found {len(pairs)}")
    return pairs


def _pair(line: str, language: str, origin: Origin) -> tuple[Sentence, Sentence]:
    columns = line.split("\t")
    if len(columns) < 2:
        raise DataError(f"{origin}: expected a sentence, a tab and its translation, found no tab")
    return _sentence(columns[0], "en", origin), _sentence(columns[1], language, origin)


def _sentence(text: str, language: str, origin: Origin) -> Sentence:
    layout = split_text(text, language)
    if not layout.offsets:
        raise DataError(f"{origin}: expected a sentence with words, found {text!r}")
    return unlabeled(layout, language, origin)
