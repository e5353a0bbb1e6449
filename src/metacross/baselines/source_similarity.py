"""How similar the source languages are to a target (after Wu et al. 2020, ACL)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from metacross.model.devices import seeded

_RANK, _STEPS, _BATCH = 64, 300, 256
_LEARNING_RATE, _ORTHOGONALITY = 1e-2, 0.01


class _LanguageScores(nn.Module):
    """Scores of languages for sentence vectors, through few dimensions that both share."""

    def __init__(self, width: int, n_languages: int) -> None:
        super().__init__()
        rank = min(_RANK, width)
        self.sentences = nn.Linear(width, rank, bias=False)
        self.languages = nn.Parameter(torch.randn(n_languages, rank) / rank**0.5)

    def forward(self, vectors: Tensor) -> Tensor:
        """*Shape:* (sentences, width), result (sentences, languages)."""
        scores: Tensor = self.sentences(vectors) @ self.languages.T
        return scores

    def overlap(self) -> Tensor:
        """How far the dimensions are from being orthogonal. *Shape:* ()."""
        weight = functional.normalize(self.sentences.weight)
        return (weight @ weight.T - torch.eye(len(weight))).square().sum()


def source_weights(
    by_language: Mapping[str, NDArray[np.float32]], target: NDArray[np.float32], *, seed: int
) -> dict[str, float]:
    """How often a target sentence is taken for one of each source language; the sum is 1.

    A classifier learns to tell the source languages apart by their sentence vectors. Its scores for
    target sentences are divided by their variance, so that it is less sure of them.
    *Shape:* each (sentences, width).
    """
    everything = np.concatenate(list(by_language.values()))
    mean = everything.mean(axis=0)
    vectors = functional.normalize(torch.from_numpy(everything - mean))
    sizes = [len(rows) for rows in by_language.values()]
    language_ids = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    # A language with more sentences is not more likely for that.
    chances = 1 / torch.tensor(sizes, dtype=torch.float32)[language_ids]
    generator = torch.Generator().manual_seed(seed)
    with seeded(seed):
        scores = _LanguageScores(vectors.shape[1], len(sizes))
    adam = torch.optim.Adam(scores.parameters(), lr=_LEARNING_RATE)
    for _ in range(_STEPS):
        drawn = torch.multinomial(chances, _BATCH, replacement=True, generator=generator)
        loss = functional.cross_entropy(scores(vectors[drawn]), language_ids[drawn])
        loss = loss + _ORTHOGONALITY * scores.overlap()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        of_target = scores(functional.normalize(torch.from_numpy(target - mean)))
        of_target = of_target / of_target.var().clamp(min=1.0)
        means = of_target.softmax(dim=1).mean(dim=0)
    return dict(zip(by_language, means.tolist(), strict=True))
