"""Makes the pseudo-tasks of meta-training out of the source language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from metacross.adaptation.retrieval import index_of
from metacross.model.sentence_encoder import Vectors
from metacross.settings import RetrievalSettings
from metacross.text.sentence import Sentence


@dataclass(frozen=True, slots=True)
class Task:
    """Learn from the support, be tested on the query; all by position in the source corpus."""

    query: int
    support: tuple[int, ...]


def pseudo_tasks(
    sentences: Sequence[Sentence], vectors: Vectors, settings: RetrievalSettings
) -> list[Task]:
    """Every source sentence is the query of a task whose support are its nearest others (Eq. 4).

    A sentence is never in its own support; nor are its copies where ``settings.copies`` is off.
    """
    index = index_of(vectors, settings.search)
    leave_out: list[tuple[int, ...]] = [(position,) for position in range(len(sentences))]
    if not settings.copies:
        copies = defaultdict(list)
        for position, sentence in enumerate(sentences):
            copies[sentence.words].append(position)
        leave_out = [tuple(copies[sentence.words]) for sentence in sentences]
    nearest = index.nearest(vectors, k=settings.neighbours, leave_out=leave_out)
    return [
        Task(query, tuple(neighbour.position for neighbour in own))
        for query, own in enumerate(nearest)
    ]
