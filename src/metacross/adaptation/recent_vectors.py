"""Keeps the vectors of sentences that were read lately, because texts come again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from metacross.model.sentence_encoder import Vectors
from metacross.text.sentence import Sentence

_N_KEPT = 4_096  # 16 MB at a width of 1,024

_Text: TypeAlias = tuple[tuple[str, ...], str | None, tuple[bool, ...]]


class RecentVectors:
    """The vectors of the sentences that were asked for last, by their words, their language and
    where the text has space between words, which decides how Chinese is read.
    """

    def __init__(self, n_kept: int = _N_KEPT) -> None:
        self._n_kept = n_kept
        self._vectors: OrderedDict[_Text, Vectors] = OrderedDict()

    def of(
        self, sentences: Sequence[Sentence], compute: Callable[[Sequence[int]], Vectors]
    ) -> Vectors:
        """A vector for each sentence; ``compute`` makes those of sentences at some positions.

        *Shape:* (sentences, width).
        """
        texts = [(s.words, s.language, _gaps(s)) for s in sentences]
        known = {text: self._vectors[text] for text in texts if text in self._vectors}
        new = {text: position for position, text in enumerate(texts) if text not in known}
        if new:
            known |= dict(zip(new, compute(list(new.values())), strict=True))
        for text in texts:
            self._vectors[text] = known[text]
            self._vectors.move_to_end(text)
        while len(self._vectors) > self._n_kept:
            self._vectors.popitem(last=False)
        return np.stack([known[text] for text in texts])


def _gaps(sentence: Sentence) -> tuple[bool, ...]:
    """Whether there is space after each word but the last; () if the text is not known."""
    offsets = [] if sentence.layout is None else sentence.layout.offsets
    return tuple(end < start for (_, end), (start, _) in pairwise(offsets))
