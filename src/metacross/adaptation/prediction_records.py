"""Writes predictions as JSON objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metacross.adaptation.prediction import Neighbor, SentencePrediction
from metacross.text.writing import json_record


def prediction_record(prediction: SentencePrediction) -> dict[str, Any]:
    """A sentence with its predicted entities and their scores, where it was read, and what the
    model learned from.
    """
    record = scored_record(prediction)
    if prediction.neighbors:
        record["neighbors"] = neighbors_json(prediction.neighbors)
    return record


def scored_record(prediction: SentencePrediction) -> dict[str, Any]:
    """A sentence with its predicted entities, their scores and the place of its text."""
    sentence = prediction.labeled
    record = json_record(sentence)
    if sentence.layout is not None and sentence.origin is not None:
        record |= {"line": sentence.origin.line, "start": sentence.origin.start}
    for span, score in zip(record["spans"], prediction.scores, strict=True):
        span["score"] = round(score, 4)
    return record


def neighbors_json(neighbors: Iterable[Neighbor]) -> list[dict[str, Any]]:
    """Neighbors as JSON: position, similarity, and the sentence."""
    return [
        {**neighbor_place(neighbor), **json_record(neighbor.sentence)} for neighbor in neighbors
    ]


def neighbor_place(neighbor: Neighbor) -> dict[str, Any]:
    """The position and similarity of a neighbor, without its sentence."""
    return {
        "position": neighbor.position,
        "similarity": round(neighbor.similarity, 6),
        **({"remembered": neighbor.remembered} if neighbor.remembered else {}),
    }
