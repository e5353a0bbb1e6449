"""The losses of the paper."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def sentence_losses(
    logits: Tensor,
    tag_ids: Tensor,
    sentence_of_word: Tensor,
    n_sentences: int,
    *,
    max_weight: float,
) -> Tensor:
    """The mean cross-entropy of each sentence's words (Eq. 3), plus ``max_weight`` times the
    largest (Eq. 13).

    *Shape:* logits (words, tags), tag_ids and sentence_of_word (words,), result (sentences,).
    """
    word_losses = functional.cross_entropy(logits.float(), tag_ids, reduction="none")  # (words,)
    zeros = word_losses.new_zeros(n_sentences)
    n_words = zeros.index_add(0, sentence_of_word, torch.ones_like(word_losses))  # (sentences,)
    losses = zeros.index_add(0, sentence_of_word, word_losses) / n_words  # (sentences,)
    if max_weight > 0:
        worst = zeros.scatter_reduce(
            0, sentence_of_word, word_losses, reduce="amax", include_self=False
        )  # (sentences,)
        losses = losses + max_weight * worst
    return losses
