"""Finds the source sentences most similar to a given one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from metacross.errors import SettingsError
from metacross.model.array_file import Array
from metacross.model.sentence_encoder import Vectors
from metacross.settings import RetrievalSettings

QUERY_BLOCK = 1_024
"""Sentences whose neighbors are searched together."""
_SOURCE_BLOCK = 16_384  # 1,024 * 16,384 similarities held at once: 64 MiB


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """The position of a source sentence, and its cosine similarity."""

    position: int
    similarity: float


class Index(Protocol):
    """Finds similar source sentences; ``recall`` is None if the search is exact."""

    recall: float | None

    def nearest(
        self, vectors: Vectors, *, k: int, exclude: Sequence[Collection[int]] = ()
    ) -> list[tuple[Match, ...]]:
        """The k most similar source sentences of each vector, best first."""


class SentenceIndex:
    """Exact search in blocks; holds neither all similarities nor a copy of the vectors.

    *Shape:* vectors (sources, width).
    """

    recall: float | None = None

    def __init__(self, vectors: Array) -> None:
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._vectors)

    def nearest(
        self, vectors: Vectors, *, k: int, exclude: Sequence[Collection[int]] = ()
    ) -> list[tuple[Match, ...]]:
        """The ``k`` most similar source sentences of each vector, most similar first; of equally
        similar ones the earlier.

        ``exclude`` holds, for each vector, positions that must not be returned: a sentence of the
        index passes its own position, foreign sentences pass nothing.

        *Shape:* vectors (queries, width).
        """
        check_enough_sources(k, len(self), exclude)
        queries = _normalized(vectors)
        matches: list[tuple[Match, ...]] = []
        for start in range(0, len(queries), QUERY_BLOCK):
            block = queries[start : start + QUERY_BLOCK]
            matches += self._nearest_of_block(block, k, exclude[start : start + QUERY_BLOCK])
        return matches

    def _nearest_of_block(
        self, queries: Tensor, k: int, exclude: Sequence[Collection[int]]
    ) -> list[tuple[Match, ...]]:
        best: list[list[Match]] = [[] for _ in range(len(queries))]
        for start in range(0, len(self), _SOURCE_BLOCK):
            sources = _normalized(self._vectors[start : start + _SOURCE_BLOCK])
            similarities = queries @ sources.T  # (queries, sources)
            for row, positions in enumerate(exclude):
                excluded = [p - start for p in positions if start <= p < start + len(sources)]
                similarities[row, excluded] = -torch.inf
            for row, candidates in enumerate(_candidates(similarities, k, start)):
                merged = best[row] + candidates
                merged.sort(key=lambda match: (-match.similarity, match.position))
                best[row] = merged[:k]
        return [tuple(row) for row in best]


def check_enough_sources(k: int, n_vectors: int, exclude: Sequence[Collection[int]]) -> None:
    """Refuse to search for more neighbors than there are source sentences."""
    n_available = n_vectors - max(map(len, exclude), default=0)
    if k > n_available:
        raise SettingsError(
            f"retrieval.neighbors: expected at most {n_available}, the number of source sentences "
            f"to choose from, found {k}"
        )


def _candidates(similarities: Tensor, k: int, start: int) -> list[list[Match]]:
    """The best of each row, with all that are as similar as the last of them."""
    values, positions = similarities.topk(min(k, similarities.shape[1]), dim=1)
    n_ties = (similarities >= values[:, -1:]).sum(dim=1)  # (queries,)
    rows: list[list[Match]] = []
    for row, (row_values, row_positions) in enumerate(
        zip(values.tolist(), positions.tolist(), strict=True)
    ):
        if int(n_ties[row]) > len(row_values):
            row_positions = (similarities[row] >= values[row, -1]).nonzero()[:, 0].tolist()
            row_values = similarities[row, row_positions].tolist()
        pairs = zip(row_positions, row_values, strict=True)
        rows.append([Match(start + p, v) for p, v in pairs if v > -torch.inf])
    return rows


def _normalized(vectors: Vectors | Tensor) -> Tensor:
    tensor = torch.as_tensor(vectors, dtype=torch.float32)
    return functional.normalize(tensor, dim=1)


def searches_exactly(n_vectors: int, settings: RetrievalSettings) -> bool:
    """Whether the search among ``n_vectors`` is exact; ``auto`` is where faiss is not installed."""
    if settings.search == "auto":
        return n_vectors <= settings.faiss_above or find_spec("faiss") is None
    return settings.search == "exact"


def build_index(vectors: Array, settings: RetrievalSettings) -> Index:
    """The index for these vectors."""
    if searches_exactly(len(vectors), settings):
        return SentenceIndex(vectors)
    from metacross.adaptation.approximate_retrieval import ApproximateIndex

    return ApproximateIndex(vectors)


class JoinedIndex:
    """Searches two indexes; positions of the second follow those of the first."""

    def __init__(self, first: Index, n_first: int, second: SentenceIndex) -> None:
        self._first, self._n_first, self._second = first, n_first, second
        self.recall = first.recall

    def nearest(
        self, vectors: Vectors, *, k: int, exclude: Sequence[Collection[int]] = ()
    ) -> list[tuple[Match, ...]]:
        """See :meth:`SentenceIndex.nearest`."""
        n_first, n_second = self._n_first, len(self._second)
        check_enough_sources(k, n_first + n_second, exclude)
        wanted = k + max(map(len, exclude), default=0)
        first = self._first.nearest(vectors, k=min(wanted, n_first))
        second = self._second.nearest(vectors, k=min(wanted, n_second))
        rows = []
        for row, (matches, others) in enumerate(zip(first, second, strict=True)):
            excluded = exclude[row] if exclude else ()
            shifted = (Match(n_first + match.position, match.similarity) for match in others)
            joined = [m for m in (*matches, *shifted) if m.position not in excluded]
            joined.sort(key=lambda match: (-match.similarity, match.position))
            rows.append(tuple(joined[:k]))
        return rows


class SplitIndex:
    """Searches parts of the vectors one by one, such as those of each source language: finds the
    nearest of every part.
    """

    recall: float | None = None

    def __init__(self, vectors: Array, parts: Sequence[NDArray[np.int64]]) -> None:
        """``parts`` are the positions of the vectors of each part, which are copied."""
        self._parts = [(positions, SentenceIndex(vectors[positions])) for positions in parts]

    def nearest(
        self, vectors: Vectors, *, k: int, exclude: Sequence[Collection[int]] = ()
    ) -> list[tuple[Match, ...]]:
        """The ``k`` most similar sentences of every part, or all of a smaller one, most similar
        first. Nothing can be excluded.
        """
        if exclude:
            raise ValueError("expected no positions to exclude")
        rows: list[list[Match]] = [[] for _ in range(len(vectors))]
        for positions, index in self._parts:
            found = index.nearest(vectors, k=min(k, len(index)))
            for row, matches in zip(rows, found, strict=True):
                row += [Match(int(positions[m.position]), m.similarity) for m in matches]
        for row in rows:
            row.sort(key=lambda match: (-match.similarity, match.position))
        return [tuple(row) for row in rows]
