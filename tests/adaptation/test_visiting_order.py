"""The order in which test sentences are labeled."""

import random
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from metacross.adaptation.visiting_order import stages


def supports_of(*supports, n_pieces=10):
    return [{p: SimpleNamespace(n_pieces=n_pieces) for p in support} for support in supports]


def n_recorded(supports, max_pieces, loaded=()):
    """Counts source sentences that are not in memory when a stage begins."""
    n, before = 0, set(loaded)
    for stage in stages(supports, max_pieces=max_pieces, loaded=loaded):
        n += len(stage.sources.keys() - before)
        before = set(stage.sources)
    return n


positions = st.integers(0, 15)


@settings(max_examples=500)
@given(
    supports=st.lists(st.dictionaries(positions, st.integers(1, 30), min_size=1, max_size=4)),
    max_pieces=st.integers(1, 200),
    loaded=st.sets(positions),
)
def test_every_sentence_is_labeled_once_while_its_support_is_in_memory(
    supports, max_pieces, loaded
):
    lengths = {p: n for support in supports for p, n in support.items()}
    examples = {p: SimpleNamespace(n_pieces=n) for p, n in lengths.items()}
    given_supports = [{p: examples[p] for p in support} for support in supports]
    if sum(lengths.get(p, 0) for p in loaded) > max_pieces:
        loaded = set()
    labeled = []
    for stage in stages(given_supports, max_pieces=max_pieces, loaded=loaded):
        assert stage.tests
        assert all(given_supports[i].keys() <= stage.sources.keys() for i in stage.tests)
        n_pieces = sum(example.n_pieces for example in stage.sources.values())
        largest = max(sum(lengths[p] for p in given_supports[i]) for i in stage.tests)
        assert n_pieces <= max(max_pieces, largest)
        labeled += stage.tests
    assert sorted(labeled) == list(range(len(supports)))


def test_a_large_support_finds_room():
    small = supports_of((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), n_pieces=4)
    large = supports_of((6, 7), n_pieces=9)
    for stage in stages([*small, *large], max_pieces=20):
        assert sum(example.n_pieces for example in stage.sources.values()) <= 20


def test_of_two_completed_supports_the_one_that_was_asked_for_stays_in_memory():
    supports = supports_of((0, 7, 1, 3), (0, 1, 3, 4), (0, 1, 15, 2), (7, 0, 2, 15), n_pieces=1)
    for stage in stages(supports, max_pieces=1):
        assert len(stage.sources) == 4


def test_a_source_sentence_that_many_need_stays_in_memory():
    others = range(1, 21)
    star = supports_of(*[(0, other) for other in others])
    random.Random(0).shuffle(star)
    assert n_recorded(star, max_pieces=40) == 1 + len(others)


def test_sentences_with_common_source_sentences_are_labeled_together():
    triangles = supports_of(
        *[(3 * i + a, 3 * i + b) for i in range(10) for a, b in ((0, 1), (1, 2), (0, 2))]
    )
    random.Random(0).shuffle(triangles)
    assert n_recorded(triangles, max_pieces=30) == 30


def test_what_is_in_memory_is_used_first():
    chain = supports_of(*[(i, i + 1) for i in range(20)])
    first = next(stages(chain, max_pieces=40, loaded=[12, 13, 14]))
    assert {12, 13} <= set(first.tests)
    assert n_recorded(chain, max_pieces=40, loaded=[12, 13, 14]) < n_recorded(chain, max_pieces=40)
