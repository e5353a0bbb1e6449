"""Rank correlation, against scipy."""

import random

import pytest

from metacross.metrics.correlation import rank_correlation


@pytest.mark.parametrize("seed", range(5))
def test_it_equals_spearman_s_of_scipy_also_with_equal_values(seed):
    stats = pytest.importorskip("scipy.stats")
    rng = random.Random(seed)
    first = [rng.randrange(5) for _ in range(12)]
    second = [rng.random() for _ in range(12)]
    expected = stats.spearmanr(first, second).statistic
    assert rank_correlation(first, second) == pytest.approx(expected)


def test_it_is_unknown_for_few_or_equal_values():
    assert rank_correlation([1, 2], [2, 1]) is None
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
