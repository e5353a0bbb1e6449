"""Finds similar source sentences among millions, by faiss: fast, and sometimes not the nearest."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from metacross.adaptation.retrieval import Match, SentenceIndex, check_enough_sources
from metacross.errors import SettingsError
from metacross.model.sentence_encoder import Vectors

_WANTED_RECALL = 0.98
_PROBES = 200  # sentences on which recall is measured
_TRAINED = 64  # vectors for each cell, to lay the cells out
_CANDIDATES = 4  # for each neighbor wanted; the best of them are told apart exactly


class ApproximateIndex:
    """Looks only into the cells of vectors next to a sentence; as many as bring the recall wanted.

    Neighbors come with their exact similarity.
    """

    def __init__(self, vectors: Vectors, *, seed: int = 0) -> None:
        try:
            import faiss
        except ImportError:
            raise SettingsError(
                "retrieval.search: expected faiss to be installed, found it is not; "
                "pip install 'metacross[faiss]', or set retrieval.search=exact"
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
        n_trained = min(len(vectors), _TRAINED * n_cells)
        chosen = np.sort(rng.choice(len(vectors), n_trained, replace=False))
        self._faiss.train(_normalized(vectors[chosen]))
        for start in range(0, len(vectors), 65_536):
            self._faiss.add(_normalized(vectors[start : start + 65_536]))
        self.recall: float | None = self._widen(
            n_cells, np.sort(rng.choice(len(vectors), min(_PROBES, len(vectors))))
        )
        """Of the two nearest sentences of some source sentences, how many it finds."""

    def __len__(self) -> int:
        return len(self._vectors)

    def _widen(self, n_cells: int, probes: np.ndarray) -> float:
        """Look into more cells until the recall is reached."""
        k = min(2, len(self) - 1)
        if k == 0:
            return 1.0
        exclude = [(int(position),) for position in probes]
        exact = SentenceIndex(self._vectors).nearest(self._vectors[probes], k=k, exclude=exclude)
        self._faiss.nprobe = min(8, n_cells)
        while True:
            found = self.nearest(self._vectors[probes], k=k, exclude=exclude)
            recall = _recall(found, exact)
            if recall >= _WANTED_RECALL or self._faiss.nprobe == n_cells:
                return recall
            self._faiss.nprobe = min(2 * self._faiss.nprobe, n_cells)

    def nearest(
        self, vectors: Vectors, *, k: int, exclude: Sequence[Collection[int]] = ()
    ) -> list[tuple[Match, ...]]:
        """The k most similar source sentences it finds of each vector, best first; see
        :meth:`SentenceIndex.nearest`.
        """
        check_enough_sources(k, len(self), exclude)
        most_left_out = max((len(own) for own in exclude), default=0)
        n_asked = min(len(self), _CANDIDATES * k + most_left_out)
        queries = _normalized(vectors)
        _, positions = self._faiss.search(queries, n_asked)  # (queries, asked)
        found = []
        for row, own in enumerate(positions):
            hidden = set(exclude[row]) if exclude else set()
            kept = [p for p in own.tolist() if p >= 0 and p not in hidden]
            similarities = _normalized(self._vectors[kept]) @ queries[row]
            best = sorted(zip(-similarities, kept, strict=True))[:k]
            found.append(tuple(Match(p, float(-s)) for s, p in best))
        return found


def _normalized(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _recall(found: Sequence[Sequence[Match]], exact: Sequence[Sequence[Match]]) -> float:
    """The share of the exact neighbors that were found, or one as similar."""
    n_wanted = n_found = 0
    for own, wanted in zip(found, exact, strict=True):
        least = min(neighbor.similarity for neighbor in wanted) - 1e-6
        n_wanted += len(wanted)
        n_found += sum(neighbor.similarity >= least for neighbor in own)
    return n_found / n_wanted
