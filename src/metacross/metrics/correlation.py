"""Computes the rank correlation of two measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, from -1 to 1; equal values share their mean rank. None if all
    values of a measure are equal, or there are fewer than three.

    >>> rank_correlation([1, 2, 3, 4], [10, 30, 20, 40])
    0.8
    """
    if len(first) < 3 or len(first) != len(second):
        return None
    first_ranks, second_ranks = _ranks(first), _ranks(second)  # both (values,)
    if np.ptp(first_ranks) == 0 or np.ptp(second_ranks) == 0:
        return None
    return round(float(np.corrcoef(first_ranks, second_ranks)[0, 1]), 12)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    below = (array[:, None] > array).sum(axis=1)  # (values,)
    equal = (array[:, None] == array).sum(axis=1)  # (values,), itself among them
    ranks: NDArray[np.float64] = below + (equal - 1) / 2
    return ranks
