"""The chain of a CRF, against all paths written out and against pytorch-crf."""

import itertools

import pytest
import torch
import torchcrf

from metacross.model.crf import (
    Chain,
    CrfLayer,
    best_paths,
    forbidden_tags,
    log_partition,
    marginals,
    path_scores,
)
from metacross.text.tags import TagSet

TAGS = TagSet(("LOC",))  # O, B-LOC, I-LOC


def random_chain(n_tags=3):
    torch.manual_seed(3)
    return Chain(torch.randn(n_tags, n_tags), torch.randn(n_tags), torch.randn(n_tags))


def score_by_hand(emissions, path, chain):
    total = chain.starts[path[0]] + chain.ends[path[-1]]
    total = total + sum(emissions[i, tag] for i, tag in enumerate(path))
    return total + sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))


def all_paths(n_words, n_tags=3):
    return list(itertools.product(range(n_tags), repeat=n_words))


@pytest.fixture
def batch():
    """Two sentences, of 4 and of 2 words."""
    torch.manual_seed(5)
    emissions = torch.randn(2, 4, 3)
    is_word = torch.tensor([[True] * 4, [True, True, False, False]])
    return emissions, is_word


def test_the_partition_sums_over_all_paths(batch):
    emissions, is_word = batch
    chain = random_chain()
    for sentence, n_words in enumerate((4, 2)):
        scores = [score_by_hand(emissions[sentence], path, chain) for path in all_paths(n_words)]
        expected = torch.stack(scores).logsumexp(0)
        assert log_partition(emissions, is_word, chain)[sentence] == pytest.approx(expected.item())


def test_marginals_sum_over_the_paths_through_a_tag(batch):
    emissions, is_word = batch
    chain = random_chain()
    probabilities = marginals(emissions, is_word, chain)
    for sentence, n_words in enumerate((4, 2)):
        paths = all_paths(n_words)
        weights = torch.stack([score_by_hand(emissions[sentence], p, chain) for p in paths])
        weights = weights.softmax(0)
        for word in range(n_words):
            for tag in range(3):
                through = sum(
                    weight.item()
                    for weight, p in zip(weights, paths, strict=True)
                    if p[word] == tag
                )
                assert probabilities[sentence, word, tag].item() == pytest.approx(through, abs=1e-5)


def test_the_best_path_has_the_highest_score(batch):
    emissions, is_word = batch
    chain = random_chain()
    for sentence, n_words in enumerate((4, 2)):
        best = max(
            all_paths(n_words), key=lambda p: score_by_hand(emissions[sentence], p, chain).item()
        )
        assert best_paths(emissions, is_word, chain)[sentence] == list(best)


def test_the_best_allowed_path_has_no_i_tag_without_its_entity(batch):
    emissions, is_word = batch
    emissions[..., 2] += 5  # I-LOC is likely everywhere
    chain = random_chain()
    allowed = [
        path
        for path in all_paths(4)
        if all(tag != 2 or before in (1, 2) for before, tag in zip((0, *path), path, strict=False))
    ]
    best = max(allowed, key=lambda path: score_by_hand(emissions[0], path, chain).item())
    assert best_paths(emissions, is_word, chain.constrained(TAGS))[0] == list(best)
    assert best_paths(emissions, is_word, chain)[0] != list(best)


def test_an_i_tag_continues_only_its_own_label():
    forbidden, forbidden_starts = forbidden_tags(TagSet(("LOC", "PER")))
    tags = TagSet(("LOC", "PER")).tags
    allowed = {
        (a, b) for i, a in enumerate(tags) for j, b in enumerate(tags) if not forbidden[i, j]
    }
    assert {a for a, b in allowed if b == "I-PER"} == {"B-PER", "I-PER"}
    assert {a for a, b in allowed if b == "B-PER"} == set(tags)
    assert forbidden_starts.tolist() == [False, False, True, False, True]


def test_likelihood_gradients_and_paths_equal_those_of_pytorch_crf(batch):
    emissions, is_word = batch
    tag_ids = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 0]])
    layer, theirs = CrfLayer(3), torchcrf.CRF(3, batch_first=True)
    with torch.no_grad():
        layer.transitions.copy_(theirs.transitions)
        layer.starts.copy_(theirs.start_transitions)
        layer.ends.copy_(theirs.end_transitions)
    losses = layer.losses(emissions, tag_ids, is_word)
    expected = -theirs(emissions, tag_ids, mask=is_word, reduction="none")
    torch.testing.assert_close(losses, expected)
    losses.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(layer.transitions.grad, theirs.transitions.grad)
    torch.testing.assert_close(layer.starts.grad, theirs.start_transitions.grad)
    assert best_paths(emissions, is_word, layer.chain) == theirs.decode(emissions, mask=is_word)


def test_the_score_of_a_path_stops_at_the_last_word(batch):
    emissions, is_word = batch
    chain = random_chain()
    tag_ids = torch.tensor([[0, 1, 2, 0], [1, 2, 1, 1]])
    scores = path_scores(emissions, tag_ids, is_word, chain)
    assert scores[1].item() == pytest.approx(score_by_hand(emissions[1], (1, 2), chain).item())
