"""The tags of a sentence: the most probable valid ones, or the most probable one of each word."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from metacross.model.crf import Chain, best_paths
from metacross.model.decoding import best_tags
from metacross.text.tags import TagSet, spans_from_tags, tags_from_spans

TAG_SET = TagSet(("LOC", "PER"))
N_TAGS = len(TAG_SET)


def random_probabilities(n_words: int, seed: int, tag_set: TagSet = TAG_SET) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(n_words, len(tag_set), generator=generator)).softmax(dim=1)


def is_valid(tag_ids: tuple[int, ...]) -> bool:
    """Valid IOB2 tags are those that the entities they mean are written as."""
    tags = [TAG_SET.tags[tag_id] for tag_id in tag_ids]
    return tags_from_spans(spans_from_tags(tags), len(tags)) == tuple(tags)


@pytest.mark.parametrize("seed", range(20))
def test_viterbi_is_the_best_of_all_valid_sequences(seed: int) -> None:
    probabilities = random_probabilities(4, seed)
    valid = [ids for ids in product(range(N_TAGS), repeat=4) if is_valid(ids)]
    scores = [probabilities[range(4), ids].log().sum().item() for ids in valid]
    assert best_tags(probabilities) == list(valid[max(range(len(valid)), key=scores.__getitem__)])


def test_viterbi_is_the_best_path_of_a_constrained_chain() -> None:
    tag_set = TagSet(("LOC", "MISC", "ORG", "PER"))
    zeros = torch.zeros(len(tag_set))
    chain = Chain(torch.zeros(len(tag_set), len(tag_set)), zeros, zeros).constrained(tag_set)
    n_changed = 0
    for seed in range(50):
        probabilities = random_probabilities(1 + seed, seed, tag_set)
        is_word = torch.ones(1, 1 + seed, dtype=torch.bool)
        (path,) = best_paths(probabilities.log().unsqueeze(0), is_word, chain)
        assert best_tags(probabilities) == path
        n_changed += best_tags(probabilities, "argmax") != path
    assert n_changed > 25  # else nothing was tested


def test_argmax_is_the_most_probable_tag_of_each_word() -> None:
    probabilities = random_probabilities(30, seed=1)
    assert best_tags(probabilities, "argmax") == probabilities.argmax(dim=1).tolist()


def test_a_wavering_name_is_one_entity() -> None:
    """B-LOC I-PER is not two entities: the second word decides."""
    probabilities = torch.tensor([[0.1, 0.5, 0.0, 0.4, 0.0], [0.0, 0.0, 0.1, 0.0, 0.9]])
    assert TAG_SET.spans(best_tags(probabilities, "argmax")) != TAG_SET.spans([3, 4])
    assert TAG_SET.spans(best_tags(probabilities)) == TAG_SET.spans([3, 4])


def test_tags_of_probability_zero_can_be_compared() -> None:
    probabilities = torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    assert best_tags(probabilities) == [0, 0]  # I-LOC cannot start; all others are as unlikely
