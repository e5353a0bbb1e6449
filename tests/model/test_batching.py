"""Sentences of similar length are computed together."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from metacross.model.batching import padding_groups


def cost(groups, lengths, overhead):
    return sum(len(group) * max(lengths[i] for i in group) + overhead for group in groups)


def cheapest_cost(lengths, overhead):
    """By trying all ways to cut the sorted lengths."""
    ordered = sorted(lengths)
    costs = []
    for n_cuts in range(len(ordered)):
        for cuts in combinations(range(1, len(ordered)), n_cuts):
            edges = [0, *cuts, len(ordered)]
            parts = [ordered[a:b] for a, b in zip(edges, edges[1:], strict=False)]
            costs.append(sum(len(part) * part[-1] + overhead for part in parts))
    return min(costs)


@given(
    st.lists(st.integers(min_value=3, max_value=60), min_size=1, max_size=8),
    st.integers(min_value=0, max_value=100),
)
def test_groups_hold_every_sentence_once_at_the_lowest_cost(lengths, overhead):
    groups = padding_groups(lengths, overhead=overhead)
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    assert cost(groups, lengths, overhead) == cheapest_cost(lengths, overhead)
