"""The pseudo-tasks of meta-training, made from the source sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from metacross.adaptation.retrieval import build_index
from metacross.model.sentence_encoder import Vectors
from metacross.model.tagger import Example
from metacross.settings import RetrievalSettings


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


@dataclass(frozen=True, slots=True)
class MetaGradient:
    """Sums over tasks: of the losses of their queries, and of the gradients of these losses at the
    weights adapted to the tasks, in the order of the trainable weights.
    """

    loss: float
    gradients: Sequence[Tensor]


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
