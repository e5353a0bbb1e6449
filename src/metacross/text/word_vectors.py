"""Reads word vectors in the text format of word2vec and fastText."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.text.resource_files import resource_lines

MAX_WORDS = 200_000
"""Files list the most frequent words first; more are not read."""


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors. *Shape:* ``matrix`` (words, width)."""

    words: tuple[str, ...]
    matrix: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        """The number of values of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def positions(self) -> dict[str, int]:
        """The row of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def position(self, word: str) -> int | None:
        """The row of a word as it is spelled, else in lower case; None if it is unknown."""
        exact = self.positions.get(word)
        return exact if exact is not None else self.positions.get(word.lower())


def read_vectors(path: str | Path, *, max_words: int = MAX_WORDS) -> WordVectors:
    """Read ``word value value ...`` lines; a first line with two numbers is a header.

    Of a word that comes twice the first vector counts.
    """
    vectors: dict[str, NDArray[np.float32]] = {}
    width: int | None = None
    for number, line in resource_lines(path):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and all(map(str.isdecimal, fields)):
            width = int(fields[1])
            continue
        word, *values = line.rstrip().split("\t") if "\t" in line else fields
        width = len(values) if width is None else width
        if len(values) != width or not width:
            raise DataError(
                f"{path}:{number}: expected a word and {width or 'some'} numbers, as in the line "
                f"before, found {len(values)}"
            )
        try:
            vector = np.array(values, dtype=np.float32)
        except ValueError:
            raise DataError(
                f"{path}:{number}: expected numbers after {word[:40]!r}, "
                f"found {' '.join(values)[:40]!r}"
            ) from None
        if not np.isfinite(vector).all():
            raise DataError(f"{path}:{number}: expected finite numbers, found infinite ones or NaN")
        vectors.setdefault(word, vector)
        if len(vectors) >= max_words:
            break
    if not vectors:
        raise DataError(f"{path}: expected word vectors, found none")
    return WordVectors(tuple(vectors), np.stack(list(vectors.values())))
