"""The significance of a difference in F1."""

import itertools

import numpy as np
import pytest

from metacross.errors import DataError
from metacross.metrics.significance import compare, f1, f1_interval


def random_system(rng, gold, quality):
    correct = rng.binomial(gold, quality)
    return np.stack([correct, correct + rng.binomial(gold, 0.2), gold], axis=1)


def test_the_p_value_equals_the_exact_one_over_all_exchanges():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 4, size=10)
    ours, theirs = random_system(rng, gold, 0.9), random_system(rng, gold, 0.5)
    observed = abs(f1(ours.sum(axis=0)) - f1(theirs.sum(axis=0)))
    n_as_large = 0
    for exchanged in itertools.product([False, True], repeat=10):
        swap = np.array(exchanged)[:, None]
        a, b = np.where(swap, theirs, ours), np.where(swap, ours, theirs)
        n_as_large += abs(f1(a.sum(axis=0)) - f1(b.sum(axis=0))) >= observed - 1e-12
    exact = n_as_large / 2**10
    assert compare(ours, theirs, shuffles=20_000).p_value == pytest.approx(exact, abs=0.015)


def test_a_system_does_not_differ_from_itself():
    rng = np.random.default_rng(1)
    system = random_system(rng, rng.integers(0, 4, size=100), 0.7)
    comparison = compare(system, system)
    assert (comparison.difference, comparison.p_value) == (0.0, 1.0)


def test_a_much_better_system_is_significantly_better():
    rng = np.random.default_rng(2)
    gold = rng.integers(0, 4, size=300)
    comparison = compare(random_system(rng, gold, 0.9), random_system(rng, gold, 0.6))
    assert comparison.difference > 0.1
    assert comparison.p_value == 1 / 10_001
    assert comparison.interval.low > 0
    assert comparison.significant


@pytest.mark.slow
def test_chance_differences_are_called_significant_about_once_in_twenty():
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(400):
        gold = rng.integers(0, 4, size=80)
        ours, theirs = random_system(rng, gold, 0.7), random_system(rng, gold, 0.7)
        p_values.append(compare(ours, theirs, shuffles=400).p_value)
    fraction = np.mean(np.array(p_values) < 0.05)
    assert 0.02 < fraction < 0.09


@pytest.mark.slow
def test_runs_of_one_system_on_shuffled_halves_differ_significantly_about_once_in_twenty():
    rng = np.random.default_rng(8)
    p_values = []
    for _ in range(400):
        gold = rng.integers(0, 4, size=160)
        difficulty = rng.beta(4, 2, size=160)  # the same sentences are difficult in all runs
        runs = np.stack([random_system(rng, gold, difficulty) for _ in range(6)])
        half = rng.permutation(160)[:80]
        ours, theirs = runs[:3, half].sum(axis=0), runs[3:, half].sum(axis=0)  # seeds together
        p_values.append(compare(ours, theirs, shuffles=400).p_value)
    fraction = np.mean(np.array(p_values) < 0.05)
    assert 0.02 < fraction < 0.09


def test_the_same_seed_gives_the_same_comparison():
    rng = np.random.default_rng(4)
    gold = rng.integers(0, 4, size=50)
    pair = random_system(rng, gold, 0.7), random_system(rng, gold, 0.6)
    assert compare(*pair, seed=5) == compare(*pair, seed=5)


@pytest.mark.slow
def test_the_bootstrap_interval_covers_the_true_f1_about_19_times_in_20():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        gold = rng.integers(0, 4, size=100)
        interval = f1_interval(random_system(rng, gold, 0.8), resamples=300)
        # correct = .8 gold, predicted = 1.0 gold, so F1 is 1.6 / 2.0 in expectation
        covered += interval.low <= 0.8 <= interval.high
    assert 0.90 < covered / 300 < 0.99


def test_blocks_do_not_change_the_p_value(monkeypatch):
    rng = np.random.default_rng(6)
    gold = rng.integers(0, 4, size=50)
    pair = random_system(rng, gold, 0.7), random_system(rng, gold, 0.6)
    in_one_block = compare(*pair, shuffles=1_000)
    monkeypatch.setattr("metacross.metrics.significance._MAX_BLOCK_SIZE", 5_000)
    assert compare(*pair, shuffles=1_000).p_value == pytest.approx(in_one_block.p_value, abs=0.05)


def test_systems_on_different_sentences_are_rejected():
    with pytest.raises(DataError, match="same sentences"):
        compare(np.ones((3, 3), dtype=np.int64), np.ones((2, 3), dtype=np.int64))
