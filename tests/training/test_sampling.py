"""Mini-batches of sentences with similar lengths."""

from __future__ import annotations

import numpy as np
import pytest

from metacross.training.sampling import Sampler, SimilarLengthSampler

LENGTHS = np.random.default_rng(3).integers(1, 60, 256).tolist()


@pytest.fixture
def batches() -> list[list[int]]:
    """The items of one pass: 32 steps of 8."""
    sampler = SimilarLengthSampler(LENGTHS, 8, seed=1)
    return [sampler.positions(step) for step in range(32)]


def test_every_item_is_drawn_once_in_a_pass(batches):
    assert sorted(position for batch in batches for position in batch) == list(range(256))


def test_items_of_a_step_have_more_similar_lengths_than_random_ones(batches):
    sampler = Sampler(256, 8, seed=1)
    at_random = [[draw.position for draw in sampler.draws(step)] for step in range(32)]

    def padded(steps):
        return sum(len(batch) * max(LENGTHS[i] for i in batch) for batch in steps)

    assert padded(batches) < 1.1 * sum(LENGTHS)
    assert padded(at_random) > 1.5 * sum(LENGTHS)


def test_long_and_short_items_come_in_random_order(batches):
    longest = [max(LENGTHS[i] for i in batch) for batch in batches[:16]]
    assert longest != sorted(longest)
    assert longest != sorted(longest, reverse=True)


def test_the_items_of_a_step_depend_on_its_number_only(batches):
    assert SimilarLengthSampler(LENGTHS, 8, seed=1).positions(21) == batches[21]
    assert SimilarLengthSampler(LENGTHS, 8, seed=2).positions(21) != batches[21]
