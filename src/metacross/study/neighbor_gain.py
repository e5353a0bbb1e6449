"""Measures how the gain by adaptation depends on the similarity of the neighbors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacross.metrics.significance import Counts, f1
from metacross.study.predictions import StoredPredictions
from metacross.study.statistics import ResultsBySeed


@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of a target's sentences, by the mean similarity of their neighbors.

    ``n_gold`` counts gold entities once, not for each seed. ``gain`` is the difference in F1 by
    adaptation in points; None where there are neither gold nor predicted entities.
    """

    n_sentences: int
    lowest: float
    highest: float
    n_gold: int
    gain: float | None


def gain_by_quarter(stored: StoredPredictions, results: ResultsBySeed) -> list[Quarter]:
    """A target's sentences in quarters, the least similar neighbors first.

    Similarities are averaged and counts are summed over seeds. Empty where predictions or
    neighbors are not stored for all seeds, or fewer than four sentences have neighbors.
    """
    by_seed = [stored.sentence_counts(result) for result in results.values()]
    known = [counts for counts in by_seed if counts is not None]
    n_sentences = {len(counts.similarities) for counts in known}
    if len(known) < len(by_seed) or len(n_sentences) != 1:
        return []
    similarities = np.mean([counts.similarities for counts in known], axis=0)  # (sentences,)
    plain: Counts = np.sum([c.by_mode["plain"] for c in known], axis=0)  # (sentences, 3)
    adapted: Counts = np.sum([c.by_mode["adapted"] for c in known], axis=0)  # (sentences, 3)
    with_neighbors = np.flatnonzero(~np.isnan(similarities))
    if len(with_neighbors) < 4:
        return []
    order = with_neighbors[np.argsort(similarities[with_neighbors], kind="stable")]
    return [
        _quarter(similarities[positions], plain[positions], adapted[positions], n_seeds=len(known))
        for positions in np.array_split(order, 4)
    ]


def _quarter(
    similarities: NDArray[np.float64], plain: Counts, adapted: Counts, *, n_seeds: int
) -> Quarter:
    """*Shape:* ``similarities`` (sentences,), ascending; ``plain``, ``adapted`` (sentences, 3)."""
    before, after = plain.sum(axis=0), adapted.sum(axis=0)  # (3,)
    has_entities = bool(before.sum() + after.sum())
    return Quarter(
        n_sentences=len(similarities),
        lowest=float(similarities[0]),
        highest=float(similarities[-1]),
        n_gold=int(before[2]) // n_seeds,
        gain=100 * float(f1(after) - f1(before)) if has_entities else None,
    )
