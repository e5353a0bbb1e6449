"""Makes the pseudo-tasks of meta-training out of the source language."""

from __future__ import annotations

from dataclasses import dataclass

from metacross.adaptation.retrieval import build_index
from metacross.model.sentence_encoder import Vectors
from metacross.settings import RetrievalSettings


@dataclass(frozen=True, slots=True)
class Task:
    """Learn from the support, be tested on the query; all by position in the source corpus."""

    query: int
    support: tuple[int, ...]


def pseudo_tasks(vectors: Vectors, settings: RetrievalSettings) -> list[Task]:
    """Every source sentence is the query of a task whose support are its nearest others (Eq. 4).

    A sentence is never in its own support.
    """
    index = build_index(vectors, settings.search)
    exclude = [(position,) for position in range(len(vectors))]
    nearest = index.nearest(vectors, k=settings.neighbors, exclude=exclude)
    return [
        Task(query, tuple(neighbor.position for neighbor in own))
        for query, own in enumerate(nearest)
    ]
