"""Says in a sentence what the neighbors do to each entity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metacross.adaptation.explanation import Explanation
from metacross.adaptation.prediction import Neighbor

LabelsByUse: TypeAlias = Mapping[frozenset[int], str | None]
"""The label of a range of words with each set of neighbors; None: no entity."""

_QUOTED_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class EntityReason:
    """What the neighbors do to a range of characters; None as a label means: no entity."""

    start: int
    end: int
    text: str
    label: str | None
    plain_label: str | None
    changed: bool
    why: str


def entity_reasons(explanation: Explanation, *, hide_source: bool) -> list[EntityReason]:
    """A reason for every range that is an entity in some counterfactual, in order of the text."""
    entities = {
        (entity.start, entity.end): entity
        for counterfactual in explanation.counterfactuals
        for entity in counterfactual.prediction.entities
    }
    names = [
        f"neighbor {number}" + ("" if hide_source else f" (“{_quoted(neighbor)}”)")
        for number, neighbor in enumerate(explanation.neighbors, start=1)
    ]
    reasons = []
    for (start, end), entity in sorted(entities.items()):
        labels = _labels(explanation, start, end)
        label, plain_label = labels[frozenset(range(len(names)))], labels[frozenset()]
        changed = len({*labels.values()}) > 1
        why = reason(labels, names)
        reasons.append(EntityReason(start, end, entity.text, label, plain_label, changed, why))
    return reasons


def _labels(explanation: Explanation, start: int, end: int) -> LabelsByUse:
    return {
        counterfactual.used: next(
            (
                entity.label
                for entity in counterfactual.prediction.entities
                if (entity.start, entity.end) == (start, end)
            ),
            None,
        )
        for counterfactual in explanation.counterfactuals
    }


def reason(labels: LabelsByUse, names: Sequence[str]) -> str:
    """A sentence about the labels of a range. ``names`` are those of the neighbors.

    >>> none, first, second, both = (frozenset(used) for used in ([], [0], [1], [0, 1]))
    >>> names = ["neighbor 1", "neighbor 2"]
    >>> reason({none: "LOC", first: "ORG", second: "LOC", both: "ORG"}, names)
    'ORG only with neighbor 1; without it LOC.'
    >>> reason({none: "LOC", first: "LOC", second: "LOC", both: "LOC"}, names)
    'LOC with and without its neighbors.'
    """
    every = frozenset(range(len(names)))
    adapted, plain = labels[every], labels[frozenset()]
    if len({*labels.values()}) == 1:
        return f"{_named(adapted)} with and without its neighbors."
    if adapted == plain:
        return (
            f"{_named(adapted)} with none and with all of its neighbors; {_others(labels, names)}."
        )
    sufficient = [i for i in sorted(every) if labels.get(frozenset({i})) == adapted]
    needed = [i for i in sorted(every) if labels.get(every - {i}, adapted) != adapted]
    without = [labels[every - {i}] for i in needed[:1] if len(needed) == 1]
    return f"{_cause(adapted, sufficient, needed, names)}; {_without(plain, without)}."


def _cause(
    label: str | None, sufficient: Sequence[int], needed: Sequence[int], names: Sequence[str]
) -> str:
    """Which neighbors give the label that the sentence has with all of them."""
    named = _named(label)
    if len(needed) == 1:
        together = "" if needed[0] in sufficient else " and one of the others"
        return f"{named} only with {names[needed[0]]}{together}"
    if needed:
        return f"{named} only with {_listed([names[i] for i in needed], 'and')} together"
    if sufficient:
        return f"{named} with {_listed([names[i] for i in sufficient], 'or')}"
    return f"{named} only with several neighbors together"


def _without(plain: str | None, without: Sequence[str | None]) -> str:
    """The labels without the one needed neighbor, if there is one, and without all neighbors."""
    if not without:
        return f"without neighbors {_named(plain, first=False)}"
    (label,) = without
    rest = "" if label == plain else f", without any {_named(plain, first=False)}"
    return f"without it {_named(label, first=False)}{rest}"


def _others(labels: LabelsByUse, names: Sequence[str]) -> str:
    """The labels that differ from the one with all neighbors, with the neighbors that give them."""
    usual = labels[frozenset()]
    return "; ".join(
        f"{_named(label, first=False)} with only {_listed([names[i] for i in sorted(used)], 'and')}"
        for used, label in labels.items()
        if label != usual
    )


def _named(label: str | None, *, first: bool = True) -> str:
    if label is not None:
        return label
    return "No entity" if first else "no entity"


def _listed(names: Sequence[str], last: str) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def _quoted(neighbor: Neighbor) -> str:
    text = neighbor.sentence.laid_out().text.strip()
    if len(text) <= _QUOTED_CHARACTERS:
        return text
    return text[: _QUOTED_CHARACTERS - 1].rstrip() + "…"
