"""The states of words, which a tagger's linear layer reads, and the words nearest to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from metacross.errors import ModelError
from metacross.model.batching import length_batches
from metacross.model.tagger import Example, Tagger, TaggerBatch

OTHER = 0  # the id of the tag O
_SCORES_AT_ONCE = 20_000_000  # similarities, 80 MB


def states_and_logits(tagger: Tagger, batch: TaggerBatch) -> tuple[Tensor, Tensor]:
    """The states of all words and the logits that the linear layer makes of them.

    *Shape:* (words, width) and (words, tags).
    """
    inputs: list[Tensor] = []
    handle = output_layer(tagger.network).register_forward_pre_hook(
        lambda _layer, arguments: inputs.append(arguments[0])
    )
    try:
        logits = tagger.logits(batch)
    finally:
        handle.remove()
    return inputs[-1][batch.window_of_word, batch.piece_of_word].float(), logits


def output_layer(network: nn.Module) -> nn.Linear:
    """The linear layer that scores the tags."""
    for name in ("classifier", "score"):
        layer = getattr(network, name, None)
        if isinstance(layer, nn.Linear):
            return layer
    raise ModelError(f"{type(network).__name__}: expected a linear layer, found none")


@torch.no_grad()
def states_of_sentences(
    tagger: Tagger, examples: Sequence[Example], *, batch_pieces: int
) -> list[Tensor]:
    """The states of each sentence's words, of length 1. *Shape:* each (words, width)."""
    states: dict[int, Tensor] = {}
    batches = length_batches([e.windows for e in examples], max_pieces=batch_pieces)
    for positions in batches:
        batch = tagger.batch([examples[i] for i in positions])
        n_words = torch.bincount(batch.sentence_of_word, minlength=batch.n_sentences)
        rows = normalize(states_and_logits(tagger, batch)[0]).cpu()
        states |= dict(zip(positions, torch.split(rows, n_words.tolist()), strict=True))
    return [states[i] for i in range(len(examples))]


@dataclass(frozen=True, slots=True)
class WordStore:
    """Words with their states, of length 1, and their tags.

    Of words outside entities only a share is kept; each of them counts ``other_weight`` times.
    *Shape:* states (words, width), tag_ids (words,).
    """

    states: Tensor
    tag_ids: Tensor
    other_weight: float

    def nearest(self, states: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The cosines and the places of the ``k`` nearest words, nearest first; fewer if there are
        fewer. *Shape:* states (words, width), results (words, k).
        """
        k = min(k, len(self.states))
        rows = max(1, _SCORES_AT_ONCE // len(self.states))
        found = [(block @ self.states.T).topk(k, dim=1) for block in torch.split(states, rows)]
        return torch.cat([f.values for f in found]), torch.cat([f.indices for f in found])

    def tag_probabilities(
        self, states: Tensor, *, k: int, temperature: float, n_tags: int
    ) -> Tensor:
        """How the nearest words vote, weighted by the exponential of their cosines.
        *Shape:* states (words, width), result (words, tags).
        """
        cosines, places = self.nearest(states, k)
        tag_ids = self.tag_ids[places]  # (words, k)
        votes = ((cosines - cosines[:, :1]) / temperature).exp()
        votes = torch.where(tag_ids == OTHER, self.other_weight * votes, votes)
        sums = votes.new_zeros(len(states), n_tags).scatter_add_(1, tag_ids, votes)
        return sums / sums.sum(dim=1, keepdim=True)


def kept_words(tag_ids: Tensor, *, outside_fraction: float, seed: int) -> Tensor:
    """The places of all words in entities and of a share of the others, in order.
    *Shape:* tag_ids (words,), result (kept words,).
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(len(tag_ids), generator=generator) < outside_fraction
    return ((tag_ids != OTHER) | drawn).nonzero().flatten()
