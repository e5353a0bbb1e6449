"""Turns predictions into the JSON of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from metacross.adaptation.explanation import Explanation
from metacross.adaptation.prediction import Entity, Neighbor, Prediction, SentencePrediction
from metacross.serving.documents import Document
from metacross.serving.why import entity_reasons
from metacross.text.sentence import Sentence

Json: TypeAlias = dict[str, Any]


def result_json(
    document: Document,
    predictions: Sequence[SentencePrediction],
    plain: Sequence[SentencePrediction] | None,
    *,
    n_neighbors: int,
    hide_source: bool,
    word_offsets: bool = False,
) -> Json:
    """The result of a text; ``plain`` are its predictions without adaptation, None if they were
    not asked for.
    """
    result: Json = {"text": document.text, "entities": _entities(document, predictions)}
    if plain is not None:
        result["plain_entities"] = _entities(document, plain)
        _add_plain_labels(result["entities"], result["plain_entities"])
    result["sentences"] = [
        {
            "start": start,
            "end": start + len(sentence.laid_out().text),
            "windows": n_windows,
            "adapted": bool(prediction.neighbors),
            "neighbors": [
                neighbor_json(neighbor, hide_source=hide_source)
                for neighbor in prediction.neighbors[:n_neighbors]
            ],
        }
        for sentence, start, n_windows, prediction in zip(
            document.sentences, document.starts, document.windows, predictions, strict=True
        )
    ]
    if word_offsets:
        _add_words(result["sentences"], document)
    return result


def _add_words(sentences: Sequence[Json], document: Document) -> None:
    """Give the words of each sentence as ranges of the text."""
    for sentence, layout in zip(sentences, map(Sentence.laid_out, document.sentences), strict=True):
        first = sentence["start"]
        sentence["words"] = [[first + start, first + end] for start, end in layout.offsets]


def _entities(document: Document, predictions: Sequence[SentencePrediction]) -> list[Json]:
    return list(_numbered_entities(document, predictions))


def _numbered_entities(
    document: Document, predictions: Sequence[SentencePrediction]
) -> Iterator[Json]:
    """The entities of a text, each with the position of its sentence."""
    pairs = zip(predictions, document.starts, strict=True)
    for number, (prediction, start) in enumerate(pairs):
        for entity in Prediction(document.text, (prediction,), (start,)).entities:
            yield entity_json(entity, sentence=number)


def entity_json(entity: Entity, *, sentence: int) -> Json:
    """An entity, with the position of its sentence in the text."""
    return {
        "start": entity.start,
        "end": entity.end,
        "label": entity.label,
        "text": entity.text,
        "score": round(entity.score, 4),
        "sentence": sentence,
    }


def _add_plain_labels(entities: Sequence[Json], plain_entities: Sequence[Json]) -> None:
    """Say for each entity what its characters are without adaptation."""
    plain = {(entity["start"], entity["end"]): entity for entity in plain_entities}
    for entity in entities:
        same = plain.get((entity["start"], entity["end"]))
        entity["plain"] = same and {"label": same["label"], "score": same["score"]}


def neighbor_json(neighbor: Neighbor, *, hide_source: bool) -> Json:
    """A source sentence, without its text where the source is hidden."""
    shown: Json = {
        "position": neighbor.position,
        "similarity": round(neighbor.similarity, 4),
    }
    if neighbor.remembered is not None:
        shown["remembered"] = neighbor.remembered
    if hide_source:
        return shown
    layout = neighbor.sentence.laid_out()
    spans = [
        {
            "start_char": layout.offsets[span.start][0],
            "end_char": layout.offsets[span.end - 1][1],
            "label": span.label,
        }
        for span in neighbor.sentence.spans or ()
    ]
    return {**shown, "text": layout.text, "spans": spans}


def why_json(explanation: Explanation, *, hide_source: bool) -> Json:
    """An explanation: neighbors, counterfactuals, and a sentence about each entity."""
    return {
        "text": explanation.plain.text,
        "neighbors": [
            neighbor_json(neighbor, hide_source=hide_source) for neighbor in explanation.neighbors
        ],
        "counterfactuals": [
            {
                "used": sorted(counterfactual.used),
                "entities": [
                    entity_json(entity, sentence=0) for entity in counterfactual.prediction.entities
                ],
            }
            for counterfactual in explanation.counterfactuals
        ],
        "entities": [
            {
                "start": reason.start,
                "end": reason.end,
                "text": reason.text,
                "label": reason.label,
                "plain_label": reason.plain_label,
                "changed": reason.changed,
                "why": reason.why,
            }
            for reason in entity_reasons(explanation, hide_source=hide_source)
        ],
    }
