"""A small language model of raw text: interpolated bigrams."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from metacross.text.sentence import Sentence

START = "<s>"
_BIGRAM_WEIGHT = 0.6


class BigramModel:
    """Probabilities of words after the word before them; words count in lower case.

    The bigram's relative frequency is interpolated with the word's own, which has one added to
    every count, so that nothing is impossible.
    """

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        self._words: Counter[str] = Counter()
        self._before: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        for sentence in sentences:
            words = [START, *(word.lower() for word in sentence.words)]
            self._words.update(words[1:])
            self._before.update(words[:-1])
            self._pairs.update(pairwise(words))
        self._total = sum(self._words.values()) + len(self._words) + 1

    @property
    def n_words(self) -> int:
        """The number of words that it was made of."""
        return sum(self._words.values())

    def __contains__(self, word: str) -> bool:
        return word.lower() in self._words

    def log_probability(self, word: str, before: str) -> float:
        """The logarithm of the probability of a word after ``before``."""
        word, before = word.lower(), before.lower()
        unigram = (self._words[word] + 1) / self._total
        n_before = self._before[before]
        bigram = self._pairs[before, word] / n_before if n_before else 0.0
        return math.log(_BIGRAM_WEIGHT * bigram + (1 - _BIGRAM_WEIGHT) * unigram)
