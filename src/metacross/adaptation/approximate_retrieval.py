"""Approximate search with faiss, for millions of source sentences."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from metacross.adaptation.retrieval import Match, SentenceIndex, check_enough_sources
from metacross.errors import SettingsError
from metacross.model.array_file import Array
from metacross.model.sentence_encoder import Vectors

_TARGET_RECALL = 0.98
_N_PROBES = 200  # sentences on which recall is measured
_VECTORS_PER_CELL = 64  # sample on which the cells are trained
_ADDED_AT_ONCE = 16_384
_CANDIDATES = 4  # per neighbor; they are ranked by exact similarity


class ApproximateIndex:
    """Searches only the cells of vectors next to a sentence: as many as the target recall needs.

    Matches have their exact similarity.
    """

    def __init__(self, vectors: Array, *, seed: int = 0) -> None:
        try:
            import faiss
        except ImportError:
            raise SettingsError(
                "faiss is not installed: pip install 'metacross[faiss]', "
                "or set retrieval.search=exact"
            ) from None
        self._vectors = vectors
        width = vectors.shape[1]
        n_cells = max(1, int(math.sqrt(len(vectors))))
        cells = faiss.IndexFlatIP(width)
        self._faiss = faiss.IndexIVFScalarQuantizer(
            cells, width, n_cells, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        )
        self._faiss.cp.niter = 10
        rng = np.random.default_rng(seed)
        n_trained = min(len(vectors), _VECTORS_PER_CELL * n_cells)
        chosen = np.sort(rng.choice(len(vectors), n_trained, replace=False))
        self._faiss.train(_normalized(vectors[chosen]))
        for start in range(0, len(vectors), _ADDED_AT_ONCE):
            self._faiss.add(_normalized(vectors[start : start + _ADDED_AT_ONCE]))
        self.recall: float | None = self._widen(
            n_cells, np.sort(rng.choice(len(vectors), min(_N_PROBES, len(vectors))))
        )
        """Fraction of the two nearest sentences that it finds, measured on a sample."""

    def __len__(self) -> int:
        return len(self._vectors)

    def _widen(self, n_cells: int, probes: np.ndarray) -> float:
        """Search more cells until the target recall is reached."""
        k = min(2, len(self) - 1)
        if k == 0:
            return 1.0
        exclude = [(int(position),) for position in probes]
        exact = SentenceIndex(self._vectors).nearest(self._vectors[probes], k=k, exclude=exclude)
        self._faiss.nprobe = min(8, n_cells)
        while True:
            approximate = self.nearest(self._vectors[probes], k=k, exclude=exclude)
            recall = _recall(approximate, exact)
            if recall >= _TARGET_RECALL or self._faiss.nprobe == n_cells:
                return recall
            self._faiss.nprobe = min(2 * self._faiss.nprobe, n_cells)

    def nearest(
        self, vectors: Vectors, *, k: int, exclude: Sequence[Collection[int]] = ()
    ) -> list[tuple[Match, ...]]:
        """The ``k`` most similar source sentences that it finds; see
        :meth:`SentenceIndex.nearest`.
        """
        check_enough_sources(k, len(self), exclude)
        most_excluded = max(map(len, exclude), default=0)
        n_candidates = min(len(self), _CANDIDATES * k + most_excluded)
        queries = _normalized(vectors)
        _, positions = self._faiss.search(queries, n_candidates)  # (queries, candidates)
        matches = []
        for row, row_positions in enumerate(positions):
            excluded = set(exclude[row]) if exclude else set()
            candidates = [p for p in row_positions.tolist() if p >= 0 and p not in excluded]
            similarities = _normalized(self._vectors[candidates]) @ queries[row]
            best = sorted(zip(-similarities, candidates, strict=True))[:k]
            matches.append(tuple(Match(p, float(-s)) for s, p in best))
        return matches


def _normalized(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _recall(approximate: Sequence[Sequence[Match]], exact: Sequence[Sequence[Match]]) -> float:
    """The fraction of the exact matches that approximate search finds, or as similar ones."""
    n_exact = n_found = 0
    for matches, exact_matches in zip(approximate, exact, strict=True):
        threshold = min(match.similarity for match in exact_matches) - 1e-6
        n_exact += len(exact_matches)
        n_found += sum(match.similarity >= threshold for match in matches)
    return n_found / n_exact
