"""Masks words in what the student reads."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer
from torch import Tensor

from metacross.model.devices import combined_seed
from tools.mini_encoder.settings import WordMaskingSettings
from tools.mini_encoder.vocabulary import MARKER, SPECIALS

_MASK = SPECIALS.index("[MASK]")
_FIRST_IDEOGRAPH = "\u2e80"


class WordMasker:
    """Replaces all pieces of random words by ``[MASK]``; the choice depends only on the seeds."""

    def __init__(self, tokenizer: Tokenizer, settings: WordMaskingSettings) -> None:
        vocabulary = tokenizer.get_vocab()
        texts = sorted(vocabulary, key=lambda text: vocabulary[text])
        self._starts_word = torch.tensor(
            [text[0] == MARKER or text[0] >= _FIRST_IDEOGRAPH for text in texts]
        )  # (pieces,)
        self._settings = settings

    def masked(self, piece_ids: Tensor, *seeds: int) -> tuple[Tensor, Tensor]:
        """The ids with some words masked, and which were. *Shape:* all (rows, pieces)."""
        generator = torch.Generator().manual_seed(combined_seed(*seeds))
        word_of_piece = self._starts_word[piece_ids].long().cumsum(1)  # (rows, pieces)
        draws = torch.rand(len(piece_ids), piece_ids.shape[1] + 1, generator=generator)
        in_masked_row = (
            torch.rand(len(piece_ids), 1, generator=generator) < self._settings.sentences
        )
        is_masked = (draws.gather(1, word_of_piece) < self._settings.words) & in_masked_row
        is_masked &= piece_ids >= len(SPECIALS)
        return piece_ids.masked_fill(is_masked, _MASK), is_masked
