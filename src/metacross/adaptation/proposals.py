"""Turns predictions into proposals for annotation tools."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from metacross.adaptation.prediction import Neighbor, SentencePrediction
from metacross.text.annotation_formats.proposal import Proposal
from metacross.text.sentence import Sentence

_HINT_CHARACTERS = 200


def proposal_of(
    prediction: SentencePrediction,
    *,
    model: str,
    show_source: bool = True,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> Proposal:
    """The entities that a model found, for a person to confirm or correct.

    Each entity says which sentence it was learned from: the most similar neighbor that has an
    entity with its label. ``show_source`` says whether the text of neighbors may be shown.
    """
    hints = [_hint(prediction, span.label) for span in prediction.spans] if show_source else []
    return Proposal(
        prediction.labeled,
        prediction.scores,
        score=least_certain(prediction),
        model=model,
        hints=tuple(hints) if all(hints) else (),
        facts=facts,
    )


def least_certain(prediction: SentencePrediction) -> float:
    """The probability of the tag of the least certain word."""
    return float(prediction.probabilities.max(axis=1).min())


def _hint(prediction: SentencePrediction, label: str) -> str:
    learned_from = [n for n in prediction.neighbors if _has_label(n, label)]
    neighbors = learned_from or list(prediction.neighbors)
    if not neighbors:
        return ""
    return f"learned from: {bracketed(neighbors[0].sentence)}"[:_HINT_CHARACTERS]


def _has_label(neighbor: Neighbor, label: str) -> bool:
    return any(span.label == label for span in neighbor.sentence.spans or ())


def bracketed(sentence: Sentence) -> str:
    """The text of a sentence with its entities in brackets.

    >>> from metacross.text.sentence import Span
    >>> bracketed(Sentence(("Ana", "spoke"), (Span(0, 1, "PER"),)))
    '[Ana PER] spoke'
    """
    layout, text, position = sentence.laid_out(), "", 0
    for span in sentence.spans or ():
        start, end = layout.offsets[span.start][0], layout.offsets[span.end - 1][1]
        text += f"{layout.text[position:start]}[{layout.text[start:end]} {span.label}]"
        position = end
    return text + layout.text[position:]
