"""How long finding neighbors takes, exactly and by faiss."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from benchmarks.measuring import in_turns, summary
from metacross.adaptation.approximate_retrieval import ApproximateIndex
from metacross.adaptation.retrieval import SentenceIndex
from metacross.model.sentence_encoder import Vectors

_WIDTH, _QUERIES = 768, 1_000


def sentences_like(n: int, seed: int) -> Vectors:
    """Made-up vectors that lie in 2,000 clusters."""
    centres = np.random.default_rng(0).standard_normal((2_000, _WIDTH), dtype=np.float32)
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, _WIDTH), dtype=np.float32)
    for start in range(0, n, 65_536):
        block = vectors[start : start + 65_536]
        block += centres[rng.integers(len(centres), size=len(block))]
    return vectors


def measure(n: int, *, repeats: int) -> dict[str, Any]:
    """Milliseconds for a query among so many vectors, top 2 of 1,000 queries, in turns.

    Up to 100,000 vectors the bare matrix product is timed too.
    """
    sources, queries = sentences_like(n, 1), sentences_like(_QUERIES, 2)
    exact = SentenceIndex(sources)
    start = time.perf_counter()
    approximate = ApproximateIndex(sources)
    built = time.perf_counter() - start

    def by_product(_repeat: int) -> int:
        torch.from_numpy(queries) @ torch.from_numpy(sources).T
        return _QUERIES

    def by_exact(_repeat: int) -> int:
        return len(exact.nearest(queries, k=2))

    def by_faiss(_repeat: int) -> int:
        return len(approximate.nearest(queries, k=2))

    ways = {"exact": by_exact, "faiss": by_faiss}
    if n <= 100_000:
        ways["product"] = by_product
    found, wanted = approximate.nearest(queries, k=2), exact.nearest(queries, k=2)
    n_found = sum(
        len({a.position for a in own} & {b.position for b in other})
        for own, other in zip(found, wanted, strict=True)
    )
    return {
        "ways": summary(in_turns(ways, repeats=repeats), "exact"),
        "seconds_to_build_faiss": built,
        "recall_of_faiss": n_found / (2 * _QUERIES),
        "recall_faiss_measured_itself": approximate.recall,
    }
