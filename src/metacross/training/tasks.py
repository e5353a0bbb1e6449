"""The pseudo-tasks of meta-training, made from the source sentences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from metacross.adaptation.retrieval import build_index
from metacross.model.ranks import ALONE, Ranks
from metacross.model.sentence_encoder import Vectors
from metacross.model.tagger import Example
from metacross.settings import RetrievalSettings

_QUERIES = 1_024  # of a search, as many as the index compares at once


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


def pseudo_tasks(vectors: Vectors, settings: RetrievalSettings, ranks: Ranks = ALONE) -> list[Task]:
    """Every source sentence is the query of a task; its support are the nearest other sentences
    (Eq. 4).

    A sentence is never in its own support. Processes share out the queries.
    """
    index = build_index(vectors, settings.search)

    def supports(queries: range) -> list[tuple[int, ...]]:
        exclude = [(position,) for position in queries]
        block = vectors[queries.start : queries.stop]
        nearest = index.nearest(block, k=settings.neighbors, exclude=exclude)
        return [tuple(match.position for match in matches) for matches in nearest]

    starts = range(0, len(vectors), _QUERIES)
    blocks = [range(start, min(start + _QUERIES, len(vectors))) for start in starts]
    found = chain.from_iterable(ranks.shared(blocks, supports))
    return [Task(query, support) for query, support in enumerate(found)]
