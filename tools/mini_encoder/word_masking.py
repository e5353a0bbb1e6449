"""Masks whole words in what the student reads."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer
from torch import Tensor

from metacross.model.devices import combined_seed
from tools.mini_encoder.recipe import WordMaskingSettings
from tools.mini_encoder.vocabulary import MARKER, SPECIALS

_MASK = SPECIALS.index("[MASK]")
_FIRST_IDEOGRAPH = "\u2e80"


class WordMasker:
    """Replaces words by ``[MASK]``, piece for piece; what is drawn depends on the seeds alone."""

    def __init__(self, tokenizer: Tokenizer, settings: WordMaskingSettings) -> None:
        texts = [text for text, _ in sorted(tokenizer.get_vocab().items(), key=lambda own: own[1])]
        self._opens_word = torch.tensor(
            [text[0] == MARKER or text[0] >= _FIRST_IDEOGRAPH for text in texts]
        )  # (pieces,)
        self._settings = settings

    def masked(self, piece_ids: Tensor, *seeds: int) -> tuple[Tensor, Tensor]:
        """The ids with some words masked, and where. *Shape:* all (rows, pieces)."""
        generator = torch.Generator().manual_seed(combined_seed(*seeds))
        words = self._opens_word[piece_ids].long().cumsum(1)  # (rows, pieces): number of the word
        draws = torch.rand(len(words), words.shape[1] + 1, generator=generator)
        rows = torch.rand(len(words), 1, generator=generator) < self._settings.sentences
        hidden = (draws.gather(1, words) < self._settings.words) & rows
        hidden &= piece_ids >= len(SPECIALS)
        return piece_ids.masked_fill(hidden, _MASK), hidden
