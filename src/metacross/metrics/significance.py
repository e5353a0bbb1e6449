"""Tests whether the difference in F1 between two systems is significant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError

Counts: TypeAlias = NDArray[np.int64]
_MAX_BLOCK_SIZE = 20_000_000  # random numbers in memory at once


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval: ``confidence`` is 0.95 for 95 %."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference in F1 between two systems, and its significance.

    Args:
        difference: F1 of the first system minus F1 of the second.
        p_value: Probability of a difference at least as large if the systems are equally good.
        interval: 95 % bootstrap interval of the difference.
        shuffles: Number of random exchanges that the p-value is computed from.

    >>> interval = Interval(low=0.01, high=0.05, confidence=0.95)
    >>> Comparison(difference=0.03, p_value=0.004, interval=interval, shuffles=10_000).significant
    True
    """

    difference: float
    p_value: float
    interval: Interval
    shuffles: int

    @property
    def significant(self) -> bool:
        """Whether the p-value is below 0.05."""
        return self.p_value < 0.05


def f1(counts: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.float64]:
    """F1 from counts of correct, predicted and gold entities.

    *Shape:* counts (..., 3), result (...).
    """
    total = counts[..., 1] + counts[..., 2]
    return np.where(total > 0, 2 * counts[..., 0] / np.maximum(total, 1), 0.0)


def compare(ours: Counts, theirs: Counts, *, shuffles: int = 10_000, seed: int = 0) -> Comparison:
    """Compare two systems by approximate randomization (Noreen 1989; Yeh 2000), two-sided.

    Under the null hypothesis the outputs of the two systems for a sentence can be exchanged. The
    p-value is the fraction of random exchanges with a difference at least as large as the observed
    one; the observed one is counted too.

    Args:
        ours: Counts of the first system, from ``counts_by_sentence``.
        theirs: Counts of the second system for the same sentences in the same order.
        shuffles: Number of random exchanges.
        seed: Seed of the random numbers.

    *Shape:* ``ours`` and ``theirs`` (sentences, 3).

    >>> ours = np.array([[2, 2, 2]] * 20)  # all entities found
    >>> theirs = np.array([[1, 2, 2]] * 20)
    >>> comparison = compare(ours, theirs)
    >>> comparison.difference, comparison.significant
    (0.5, True)
    """
    _check_paired(ours, theirs)
    rng = np.random.default_rng(seed)
    observed = float(f1(ours.sum(axis=0)) - f1(theirs.sum(axis=0)))
    ours_total, theirs_total = ours.sum(axis=0), theirs.sum(axis=0)  # (3,)
    change = (theirs - ours).astype(np.float64)  # (sentences, 3)
    n_as_large = 0
    for n_rows in _blocks(shuffles, len(ours)):
        exchanged = rng.integers(0, 2, size=(n_rows, len(ours)), dtype=np.int8)
        total_change = exchanged.astype(np.float64) @ change  # (shuffles, 3)
        differences = f1(ours_total + total_change) - f1(theirs_total - total_change)  # (shuffles,)
        n_as_large += int(np.sum(np.abs(differences) >= abs(observed) - 1e-12))
    p_value = (n_as_large + 1) / (shuffles + 1)
    return Comparison(observed, p_value, _difference_interval(ours, theirs, seed), shuffles)


def f1_interval(
    counts: Counts, *, confidence: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Interval:
    """Percentile bootstrap interval of a system's F1; sentences are resampled.

    *Shape:* counts (sentences, 3).
    """
    f1s = [f1(totals) for totals in _resampled_totals(counts[:, None, :], resamples, seed)]
    return _percentiles(np.concatenate(f1s)[:, 0], confidence)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the number of tests (Holm 1979): each can be compared with 0.05.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for n_before, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - n_before) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def _difference_interval(ours: Counts, theirs: Counts, seed: int) -> Interval:
    """Bootstrap interval of the difference, with the same resampled sentences for both systems."""
    both = np.stack([ours, theirs], axis=1)  # (sentences, 2, 3)
    f1s = np.concatenate([f1(totals) for totals in _resampled_totals(both, 2_000, seed)])
    return _percentiles(f1s[:, 0] - f1s[:, 1], 0.95)


def _resampled_totals(counts: Counts, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Total counts of sentences drawn with replacement.

    *Shape:* counts (sentences, systems, 3), each result (resamples in the block, systems, 3).
    """
    rng = np.random.default_rng(seed)
    n_sentences, n_systems, _ = counts.shape
    flat = counts.reshape(n_sentences, -1).astype(np.float64)
    for n_rows in _blocks(resamples, n_sentences):
        drawn = rng.multinomial(n_sentences, np.full(n_sentences, 1 / n_sentences), size=n_rows)
        yield (drawn.astype(np.float64) @ flat).reshape(n_rows, n_systems, 3)


def _blocks(n_rows: int, n_sentences: int) -> Iterator[int]:
    """Yield the sizes of blocks of rows of random numbers that fit in memory."""
    block_size = max(1, _MAX_BLOCK_SIZE // n_sentences)
    for start in range(0, n_rows, block_size):
        yield min(block_size, n_rows - start)


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
