"""A linear-chain conditional random field: likelihood, marginals and best paths."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from metacross.text.tags import OUTSIDE, TagSet, split_tag

_IMPOSSIBLE = -1e4  # as a score: its exponential is 0 in single precision


@dataclass(frozen=True, slots=True)
class Chain:
    """The scores of tags that follow each other, start and end a sentence.

    *Shape:* ``transitions`` (tags, tags), from and to; ``starts`` and ``ends`` (tags,).
    """

    transitions: Tensor
    starts: Tensor
    ends: Tensor

    def constrained(self, tag_set: TagSet) -> Chain:
        """The chain in which an ``I-`` tag only continues an entity of its label."""
        forbidden, forbidden_starts = forbidden_tags(tag_set)
        return Chain(
            self.transitions.masked_fill(forbidden, _IMPOSSIBLE),
            self.starts.masked_fill(forbidden_starts, _IMPOSSIBLE),
            self.ends,
        )


def forbidden_tags(tag_set: TagSet) -> tuple[Tensor, Tensor]:
    """Which tags may not follow which, and which may not start a sentence: an ``I-`` tag continues
    an entity of its label only. *Shape:* (tags, tags) and (tags,).
    """
    parts = [split_tag(tag) for tag in tag_set.tags]
    forbidden = [
        [prefix == "I" and (before_prefix == OUTSIDE or before != label) for prefix, label in parts]
        for before_prefix, before in parts
    ]
    return torch.tensor(forbidden), torch.tensor([prefix == "I" for prefix, _ in parts])


def log_partition(emissions: Tensor, is_word: Tensor, chain: Chain) -> Tensor:
    """The logarithm of the sum over all paths. *Shape:* emissions (sentences, words, tags),
    is_word (sentences, words), result (sentences,).
    """
    scores = chain.starts + emissions[:, 0]  # (sentences, tags)
    for position in range(1, emissions.shape[1]):
        steps = scores.unsqueeze(2) + chain.transitions  # (sentences, from, to)
        after = steps.logsumexp(dim=1) + emissions[:, position]  # (sentences, tags)
        scores = torch.where(is_word[:, position].unsqueeze(1), after, scores)
    return (scores + chain.ends).logsumexp(dim=1)


def path_scores(emissions: Tensor, tag_ids: Tensor, is_word: Tensor, chain: Chain) -> Tensor:
    """The scores of some paths. *Shape:* emissions (sentences, words, tags), tag_ids and is_word
    (sentences, words), result (sentences,).
    """
    words = emissions.gather(2, tag_ids.unsqueeze(2)).squeeze(2)  # (sentences, words)
    steps = chain.transitions[tag_ids[:, :-1], tag_ids[:, 1:]]  # (sentences, words - 1)
    last = is_word.sum(dim=1) - 1  # (sentences,)
    return (
        (words * is_word).sum(dim=1)
        + (steps * is_word[:, 1:]).sum(dim=1)
        + chain.starts[tag_ids[:, 0]]
        + chain.ends[tag_ids.gather(1, last.unsqueeze(1)).squeeze(1)]
    )


def marginals(emissions: Tensor, is_word: Tensor, chain: Chain) -> Tensor:
    """The probability of each tag of each word: the gradient of the log-partition.

    *Shape:* emissions and result (sentences, words, tags), is_word (sentences, words).
    """
    with torch.enable_grad():
        leaf = emissions.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(log_partition(leaf, is_word, chain).sum(), leaf)
    return gradient


@torch.no_grad()
def best_paths(emissions: Tensor, is_word: Tensor, chain: Chain) -> list[list[int]]:
    """The tags of the best path of each sentence (Viterbi). *Shape:* emissions (sentences, words,
    tags), is_word (sentences, words).
    """
    scores = chain.starts + emissions[:, 0]  # (sentences, tags)
    came_from = []
    for position in range(1, emissions.shape[1]):
        best, before = (scores.unsqueeze(2) + chain.transitions).max(dim=1)  # (sentences, tags)
        is_there = is_word[:, position].unsqueeze(1)  # (sentences, 1)
        scores = torch.where(is_there, best + emissions[:, position], scores)
        came_from.append(torch.where(is_there, before, torch.arange(before.shape[1])))
    tags = (scores + chain.ends).argmax(dim=1)  # (sentences,)
    paths = [tags]
    for before in reversed(came_from):
        tags = before.gather(1, tags.unsqueeze(1)).squeeze(1)
        paths.append(tags)
    by_sentence = torch.stack(paths[::-1], dim=1).tolist()
    lengths = is_word.sum(dim=1).tolist()
    return [path[:length] for path, length in zip(by_sentence, lengths, strict=True)]


class CrfLayer(nn.Module):
    """The trainable chain on top of a network."""

    def __init__(self, n_tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(n_tags, n_tags))
        self.starts = nn.Parameter(torch.zeros(n_tags))
        self.ends = nn.Parameter(torch.zeros(n_tags))

    @property
    def chain(self) -> Chain:
        """The chain with the weights of this moment."""
        return Chain(self.transitions, self.starts, self.ends)

    def losses(self, emissions: Tensor, tag_ids: Tensor, is_word: Tensor) -> Tensor:
        """The negative log-likelihood of each sentence. *Shape:* emissions (sentences, words,
        tags), tag_ids and is_word (sentences, words), result (sentences,).
        """
        chain = self.chain
        return log_partition(emissions, is_word, chain) - path_scores(
            emissions, tag_ids, is_word, chain
        )
