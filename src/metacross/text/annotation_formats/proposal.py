"""A sentence on its way to an annotation tool, with what a model proposes for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from metacross.text.sentence import Sentence


@dataclass(frozen=True, slots=True)
class Proposal:
    """A sentence whose spans a model found; a person is to confirm or correct them.

    Args:
        sentence: The sentence with the proposed entities.
        scores: The probability of each entity.
        score: The probability of the least certain word.
        model: Which model proposes.
        hints: A line about each entity, such as what the model learned it from; may be empty.
        facts: More to store beside the text: a rank, and the reasons for it.
    """

    sentence: Sentence
    scores: tuple[float, ...] = ()
    score: float | None = None
    model: str = "metacross"
    hints: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


Item: TypeAlias = Sentence | Proposal
"""What is written: a sentence with its gold entities, or a proposal."""


def sentence_of(item: Item) -> Sentence:
    """The sentence of an item."""
    return item.sentence if isinstance(item, Proposal) else item


def facts_of(item: Item) -> dict[str, Any]:
    """What is stored beside the text of an item."""
    return dict(item.facts) if isinstance(item, Proposal) else {}
