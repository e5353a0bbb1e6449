"""Measures the time to find neighbors, exactly and with faiss."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from benchmarks.measuring import summary, time_in_turns
from metacross.adaptation.approximate_retrieval import ApproximateIndex
from metacross.adaptation.retrieval import SentenceIndex
from metacross.model.sentence_encoder import Vectors

_WIDTH, _N_QUERIES = 768, 1_000


def synthetic_vectors(n: int, *, seed: int) -> Vectors:
    """Random vectors in 2,000 clusters. *Shape:* (n, 768)."""
    centers = np.random.default_rng(0).standard_normal((2_000, _WIDTH), dtype=np.float32)
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, _WIDTH), dtype=np.float32)
    for start in range(0, n, 65_536):
        block = vectors[start : start + 65_536]
        block += centers[rng.integers(len(centers), size=len(block))]
    return vectors


def measure(n: int, *, repeats: int) -> dict[str, Any]:
    """Time per query to find the 2 nearest of ``n`` vectors.

    Up to 100,000 vectors, the matrix product alone is timed too.
    """
    sources, queries = synthetic_vectors(n, seed=1), synthetic_vectors(_N_QUERIES, seed=2)
    exact = SentenceIndex(sources)
    start = time.perf_counter()
    approximate = ApproximateIndex(sources)
    build_seconds = time.perf_counter() - start

    def with_matrix_product(_repeat: int) -> int:
        torch.from_numpy(queries) @ torch.from_numpy(sources).T
        return _N_QUERIES

    def with_exact(_repeat: int) -> int:
        return len(exact.nearest(queries, k=2))

    def with_faiss(_repeat: int) -> int:
        return len(approximate.nearest(queries, k=2))

    variants = {"exact": with_exact, "faiss": with_faiss}
    if n <= 100_000:
        variants["matrix product"] = with_matrix_product
    n_found = sum(
        len({n.position for n in approximate_neighbors} & {n.position for n in exact_neighbors})
        for approximate_neighbors, exact_neighbors in zip(
            approximate.nearest(queries, k=2), exact.nearest(queries, k=2), strict=True
        )
    )
    return {
        "variants": summary(time_in_turns(variants, repeats=repeats), "exact"),
        "faiss_build_seconds": build_seconds,
        "faiss_recall": n_found / (2 * _N_QUERIES),
        "faiss_estimated_recall": approximate.recall,
    }
