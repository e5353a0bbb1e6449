"""Masks pieces of entities in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metacross.errors import ModelError
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.training.sampling import Draw


def masked(example: Example, *, mask: int, ratio: float, rng: np.random.Generator) -> Example:
    """Replace each piece inside an entity with the mask piece, with probability ``ratio``.

    A piece that is in two windows is masked in both or in none.
    """
    tag_ids = example.tag_ids
    if not ratio or not tag_ids or not any(tag_ids):
        return example
    n_pieces = example.windows[-1].start + len(example.windows[-1].words)
    is_masked = rng.random(n_pieces) < ratio  # (pieces of the sentence,)
    windows = []
    for window in example.windows:
        pieces = list(window.piece_ids)
        for i, word in enumerate(window.words):
            if tag_ids[word] and is_masked[window.start + i]:
                pieces[window.n_before + i] = mask
        windows.append(replace(window, piece_ids=tuple(pieces)))
    return replace(example, windows=tuple(windows))


class EpochMasker:
    """Draws the masks of examples, new in every epoch and the same within an epoch."""

    def __init__(self, tagger: Tagger, examples: Sequence[Example], settings: Settings) -> None:
        mask = tagger.tokenizer.special.mask
        if mask is None and settings.masking.ratio > 0:
            raise ModelError(
                "masking.ratio: expected 0, because the tokenizer has no mask token, "
                f"found {settings.masking.ratio}"
            )
        self._mask = mask or 0
        self._examples = examples
        self._masking = settings.masking
        self._seed = settings.run.seed

    def query(self, draw: Draw) -> Example:
        """An example as the query of a task, or of a mini-batch."""
        return self._masked(draw)

    def support(self, draw: Draw) -> Example:
        """An example in the support of a task."""
        return self._masked(draw) if self._masking.in_support else self._examples[draw.position]

    def _masked(self, draw: Draw) -> Example:
        rng = np.random.default_rng([self._seed, draw.epoch, draw.position])
        example = self._examples[draw.position]
        return masked(example, mask=self._mask, ratio=self._masking.ratio, rng=rng)
