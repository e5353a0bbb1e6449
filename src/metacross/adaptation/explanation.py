"""Explains a prediction by counterfactuals: the sentence labeled with some of its neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from metacross.adaptation.prediction import Neighbor, SentencePrediction
from metacross.text.sentence import Sentence, Span

_ALL_SUBSETS = 3  # neighbors: up to 8 counterfactuals


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """How a sentence is labeled if it adapts to some of its neighbors only.

    ``used`` are positions in the neighbors of the explanation; empty means without adaptation.
    """

    used: frozenset[int]
    prediction: SentencePrediction


@dataclass(frozen=True, slots=True)
class Explanation:
    """How the neighbors of a sentence change its entities.

    ``counterfactuals`` begin without neighbors and end with all of them. With up to three neighbors
    they are all subsets; with more: none, each one, all but each one, and all.
    """

    sentence: Sentence
    neighbors: tuple[Neighbor, ...]
    counterfactuals: tuple[Counterfactual, ...]

    @property
    def plain(self) -> SentencePrediction:
        """The prediction without adaptation."""
        return self.counterfactuals[0].prediction

    @property
    def adapted(self) -> SentencePrediction:
        """The prediction with all neighbors: the one that the model makes."""
        return self.counterfactuals[-1].prediction

    @property
    def changed_spans(self) -> tuple[Span, ...]:
        """The entities that some counterfactuals have and others do not, in order."""
        found = [set(counterfactual.prediction.spans) for counterfactual in self.counterfactuals]
        return tuple(sorted(found[0].union(*found) - found[0].intersection(*found)))

    def with_neighbors(self, *used: int) -> SentencePrediction | None:
        """The prediction with some of the neighbors; None if it is not among the counterfactuals.

        ``used`` are positions in :attr:`neighbors`, most similar first, counted from 0.
        """
        for counterfactual in self.counterfactuals:
            if counterfactual.used == frozenset(used):
                return counterfactual.prediction
        return None


def explained_subsets(n_neighbors: int) -> list[frozenset[int]]:
    """The sets of neighbors that an explanation labels a sentence with.

    >>> [sorted(used) for used in explained_subsets(2)]
    [[], [0], [1], [0, 1]]
    >>> len(explained_subsets(3)), len(explained_subsets(8))
    (8, 18)
    """
    return list(dict.fromkeys(_subsets(n_neighbors)))


def _subsets(n_neighbors: int) -> Iterator[frozenset[int]]:
    every = range(n_neighbors)
    sizes = every if n_neighbors <= _ALL_SUBSETS else (0, 1, n_neighbors - 1)
    for size in sizes:
        yield from map(frozenset, combinations(every, size))
    yield frozenset(every)
