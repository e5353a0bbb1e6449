"""Tells whether one system is better than another, or by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError

Counts = NDArray[np.int64]
_BLOCK_CELLS = 20_000_000  # how many random numbers are held at once


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a value lies with the given confidence."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference in F1 between two systems, and how often chance makes one as large."""

    difference: float
    p_value: float
    interval: Interval
    shuffles: int

    @property
    def significant(self) -> bool:
        """Whether chance explains the difference in fewer than 5 of 100 cases."""
        return self.p_value < 0.05


def f1(counts: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.float64]:
    """F1 of counts of correct, predicted and gold entities.

    *Shape:* counts (..., 3), result (...).
    """
    total = counts[..., 1] + counts[..., 2]
    return np.where(total > 0, 2 * counts[..., 0] / np.maximum(total, 1), 0.0)


def compare(ours: Counts, theirs: Counts, *, shuffles: int = 10_000, seed: int = 0) -> Comparison:
    """Approximate randomization (Noreen 1989; Yeh 2000) over sentences, two-sided.

    Under the null hypothesis the two systems' outputs for a sentence could be exchanged. The
    p-value is the share of random exchanges with a difference at least as large as the real one,
    which counts as one of them.

    *Shape:* ``ours`` and ``theirs`` (sentences, 3), of the same sentences in the same order.
    """
    _check_paired(ours, theirs)
    rng = np.random.default_rng(seed)
    observed = float(f1(ours.sum(axis=0)) - f1(theirs.sum(axis=0)))
    ours_total, theirs_total = ours.sum(axis=0), theirs.sum(axis=0)  # (3,)
    change = (theirs - ours).astype(np.float64)  # (sentences, 3)
    as_large = 0
    for n_rows in _blocks(shuffles, len(ours)):
        exchanged = rng.integers(0, 2, size=(n_rows, len(ours)), dtype=np.int8)
        moved = exchanged.astype(np.float64) @ change  # (shuffles, 3)
        differences = f1(ours_total + moved) - f1(theirs_total - moved)  # (shuffles,)
        as_large += int(np.sum(np.abs(differences) >= abs(observed) - 1e-12))
    p_value = (as_large + 1) / (shuffles + 1)
    return Comparison(observed, p_value, _interval(ours, theirs, seed), shuffles)


def f1_interval(
    counts: Counts, *, confidence: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Interval:
    """Bootstrap interval (percentiles) of a system's F1, over sentences.

    *Shape:* counts (sentences, 3).
    """
    values = [f1(drawn) for drawn in _resampled(counts[:, None, :], resamples, seed)]
    return _percentiles(np.concatenate(values)[:, 0], confidence)


def _interval(ours: Counts, theirs: Counts, seed: int) -> Interval:
    """Bootstrap interval of the difference: both systems on the same drawn sentences."""
    both = np.stack([ours, theirs], axis=1)  # (sentences, 2, 3)
    values = np.concatenate([f1(drawn) for drawn in _resampled(both, 2_000, seed)])
    return _percentiles(values[:, 0] - values[:, 1], 0.95)


def _resampled(counts: Counts, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Sums over sentences drawn with replacement.

    *Shape:* counts (sentences, systems, 3), each result (resamples in the block, systems, 3).
    """
    rng = np.random.default_rng(seed)
    n_sentences, n_systems, _ = counts.shape
    flat = counts.reshape(n_sentences, -1).astype(np.float64)
    for n_rows in _blocks(resamples, n_sentences):
        drawn = rng.multinomial(n_sentences, np.full(n_sentences, 1 / n_sentences), size=n_rows)
        yield (drawn.astype(np.float64) @ flat).reshape(n_rows, n_systems, 3)


def _blocks(n_rows: int, n_sentences: int) -> Iterator[int]:
    """Cut rows of random numbers into blocks that fit in memory."""
    block = max(1, _BLOCK_CELLS // n_sentences)
    for start in range(0, n_rows, block):
        yield min(block, n_rows - start)


def _percentiles(values: NDArray[np.float64], confidence: float) -> Interval:
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval(float(low), float(high), confidence)


def _check_paired(ours: Counts, theirs: Counts) -> None:
    if ours.shape != theirs.shape or not np.array_equal(ours[:, 2], theirs[:, 2]):
        raise DataError(
            f"expected two systems on the same sentences, found {len(ours):,} sentences with "
            f"{int(ours[:, 2].sum()):,} gold entities and {len(theirs):,} with "
            f"{int(theirs[:, 2].sum()):,}"
        )
