"""The pseudo-tasks of meta-training, made from the source sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from metacross.adaptation.retrieval import QUERY_BLOCK, Index, build_index, searches_exactly
from metacross.adaptation.vector_cache import cache_folder
from metacross.errors import ModelError
from metacross.model.array_file import Array, ArrayPlan, MappedArray, computed_array, rows_digest
from metacross.model.ranks import ALONE, Ranks
from metacross.model.tagger import Example
from metacross.settings import RetrievalSettings

_QUICK = 1_000_000_000  # similarities that are computed in seconds


@dataclass(frozen=True, slots=True)
class Task:
    """Adapt to the support, then learn from the query; both by position in the source corpus."""

    query: int
    support: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskExamples:
    """A task's tokenized sentences, masked as in its epoch; ``position`` is that of its query."""

    position: int
    support: tuple[Example, ...]
    query: Example

    @property
    def n_pieces(self) -> int:
        """Number of pieces in all its sentences."""
        return sum(example.n_pieces for example in (*self.support, self.query))


class PseudoTasks(Sequence[Task]):
    """The tasks of some source sentences, of all of which there could be one.

    *Shape:* queries (tasks,) in rising order, supports (tasks, neighbors).
    """

    def __init__(
        self, n_sentences: int, queries: NDArray[np.int64], supports: NDArray[np.int64]
    ) -> None:
        self._n_sentences, self._queries, self._supports = n_sentences, queries, supports

    def __len__(self) -> int:
        return self._n_sentences

    @overload
    def __getitem__(self, query: int) -> Task: ...

    @overload
    def __getitem__(self, query: slice) -> list[Task]: ...

    def __getitem__(self, query: int | slice) -> Task | list[Task]:
        """The task of a source sentence."""
        if isinstance(query, slice):
            return [self[position] for position in range(*query.indices(len(self)))]
        row = int(np.searchsorted(self._queries, query))
        if row == len(self._queries) or self._queries[row] != query:
            raise IndexError(f"no task was made for the source sentence {query}")
        return Task(int(query), tuple(self._supports[row].tolist()))


def pseudo_tasks(
    vectors: Array,
    settings: RetrievalSettings,
    *,
    queries: NDArray[np.int64] | None = None,
    progress: Callable[[int, int], None] = lambda _n_done, _n_total: None,
    ranks: Ranks = ALONE,
) -> PseudoTasks:
    """Every source sentence is the query of a task; its support are the nearest other sentences
    (Eq. 4).

    A sentence is never in its own support. ``queries`` are the positions of the sentences whose
    tasks are needed, in rising order; None: all. If finding them takes long, they are kept in the
    cache folder, and after a kill the next call resumes. ``progress`` is called with the number of
    tasks found and of all. Processes share out the queries.
    """
    positions = np.arange(len(vectors)) if queries is None else queries
    finder = _TaskFinder(vectors, settings, positions)
    n_tasks = len(positions)

    def report(n_done: int) -> None:
        progress(n_done, n_tasks)

    def supports(start: int, end: int) -> NDArray[np.int64]:
        blocks = [(s, min(s + QUERY_BLOCK, end)) for s in range(start, end, QUERY_BLOCK)]
        return np.concatenate(ranks.shared(blocks, lambda block: finder.supports(*block)))

    at_once = QUERY_BLOCK * ranks.size
    if n_tasks * len(vectors) > _QUICK:
        path = cache_folder() / "tasks" / f"{finder.key}.safetensors"
        shape = (n_tasks, settings.neighbors)
        plan = ArrayPlan("supports", shape, rows_at_once=at_once, type_="I64")
        try:
            found = computed_array(path, plan, supports, report, ranks)
            return PseudoTasks(len(vectors), positions, found[:])
        except OSError as problem:  # the cache cannot be written
            if ranks.size > 1:
                raise ModelError(
                    f"{path.parent}: expected room for {n_tasks:,} tasks, found: "
                    f"{problem.strerror}; METACROSS_CACHE names another folder"
                ) from problem
    blocks = []
    for start in range(0, n_tasks, at_once):
        end = min(start + at_once, n_tasks)
        blocks.append(supports(start, end))
        report(end)
    return PseudoTasks(len(vectors), positions, np.concatenate(blocks))


class _TaskFinder:
    """Finds the supports of queries. The index is built when it is first needed."""

    def __init__(
        self, vectors: Array, settings: RetrievalSettings, queries: NDArray[np.int64]
    ) -> None:
        self._vectors, self._settings, self._queries = vectors, settings, queries

    @cached_property
    def _index(self) -> Index:
        return build_index(self._vectors, self._settings)

    def supports(self, start: int, end: int) -> NDArray[np.int64]:
        """The supports of some queries. *Shape:* (queries, neighbors)."""
        queries = self._queries[start:end]
        exclude = [(position,) for position in queries.tolist()]
        k = self._settings.neighbors
        nearest = self._index.nearest(self._vectors[queries], k=k, exclude=exclude)
        positions = [[match.position for match in matches] for matches in nearest]
        return np.array(positions, dtype=np.int64).reshape(len(queries), k)

    @property
    def key(self) -> str:
        """A digest of everything that the tasks depend on."""
        vectors = self._vectors
        exact = searches_exactly(len(vectors), self._settings)
        values = vectors.digest if isinstance(vectors, MappedArray) else rows_digest(vectors)
        digest = hashlib.sha256(f"1 {exact} {self._settings.neighbors} {values}".encode())
        digest.update(self._queries.astype("<i8").tobytes())
        return digest.hexdigest()
