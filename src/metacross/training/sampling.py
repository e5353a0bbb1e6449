"""Samples the items of each training step."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacross.errors import SettingsError
from metacross.text.sentence import Corpus

_STEPS_TOGETHER = 16


@dataclass(frozen=True, slots=True)
class Draw:
    """An item by position, and the pass over all items (from 0) in which it was drawn."""

    position: int
    epoch: int


def drawn_positions(n_items: int, per_step: int, seed: int, *, steps: int) -> NDArray[np.int64]:
    """The items that a :class:`Sampler` draws in a training, in rising order."""
    if steps * per_step >= n_items:
        return np.arange(n_items)
    return np.sort(_permutation(n_items, seed, 0)[: steps * per_step])


def _permutation(n_items: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, epoch]).permutation(n_items)


class Sampler:
    """Goes through all items in a new random order every epoch.

    The items of a step depend only on its number, so that a training can resume at any step.
    """

    def __init__(self, n_items: int, per_step: int, seed: int) -> None:
        self._n_items = n_items
        self._per_step = per_step
        self._seed = seed
        self._orders: dict[int, list[int]] = {}

    def draws(self, step: int) -> list[Draw]:
        """The items of a step, counted from 0."""
        first = step * self._per_step
        draws = []
        for number in range(first, first + self._per_step):
            epoch, place = divmod(number, self._n_items)
            draws.append(Draw(self._order(epoch)[place], epoch))
        return draws

    def _order(self, epoch: int) -> list[int]:
        if epoch not in self._orders:
            order = _permutation(self._n_items, self._seed, epoch).tolist()
            self._orders = {epoch: order} | {
                other: order for other, order in self._orders.items() if other == epoch - 1
            }
        return self._orders[epoch]


class SimilarLengthSampler:
    """Goes through all items as :class:`Sampler` does, but those of a step have similar lengths, so
    that little of a mini-batch is padding: what is drawn for ``_STEPS_TOGETHER`` steps is sorted by
    length and shared out among them in random order.
    """

    def __init__(self, lengths: Sequence[int], per_step: int, seed: int) -> None:
        self._lengths = lengths
        self._per_step = per_step
        self._seed = seed
        self._sampler = Sampler(len(lengths), per_step, seed)

    def positions(self, step: int) -> list[int]:
        """The items of a step, counted from 0."""
        round_number, place = divmod(step, _STEPS_TOGETHER)
        first = round_number * _STEPS_TOGETHER
        drawn = [
            draw.position
            for number in range(first, first + _STEPS_TOGETHER)
            for draw in self._sampler.draws(number)
        ]
        drawn.sort(key=lambda position: self._lengths[position])
        share = int(_permutation(_STEPS_TOGETHER, self._seed, round_number)[place])
        return drawn[share * self._per_step : (share + 1) * self._per_step]


def random_subset(corpus: Corpus, n_sentences: int, seed: int) -> Corpus:
    """``n_sentences`` random sentences of a corpus, without replacement, in their order."""
    if not 1 <= n_sentences <= len(corpus):
        raise SettingsError(
            f"expected 1 to {len(corpus):,} sentences of {corpus.name}, found {n_sentences:,}"
        )
    positions = sorted(random.Random(seed).sample(range(len(corpus)), n_sentences))
    return Corpus(tuple(corpus[position] for position in positions), source=corpus.source)
