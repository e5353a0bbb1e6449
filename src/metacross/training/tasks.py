"""Makes the pseudo-tasks of meta-training from the source sentences."""

from __future__ import annotations

from dataclasses import dataclass

from metacross.adaptation.retrieval import build_index
from metacross.model.sentence_encoder import Vectors
from metacross.settings import RetrievalSettings


@dataclass(frozen=True, slots=True)
class Task:
    """Adapt to the support, then learn from the query; both by position in the source corpus."""

    query: int
    support: tuple[int, ...]


def pseudo_tasks(vectors: Vectors, settings: RetrievalSettings) -> list[Task]:
    """Every source sentence is the query of a task; its support are the nearest other sentences
    (Eq. 4).

    A sentence is never in its own support.
    """
    index = build_index(vectors, settings.search)
    exclude = [(position,) for position in range(len(vectors))]
    nearest = index.nearest(vectors, k=settings.neighbors, exclude=exclude)
    return [
        Task(query, tuple(match.position for match in matches))
        for query, matches in enumerate(nearest)
    ]
