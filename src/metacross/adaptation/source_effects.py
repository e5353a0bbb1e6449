"""Finds source sentences whose presence turns right entities wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metacross.adaptation.explanation import Explanation
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import Neighbor
from metacross.text.sentence import Sentence


@dataclass(frozen=True, slots=True)
class SourceEffect:
    """What a source sentence did to gold entities of other sentences.

    Args:
        neighbor: The source or remembered sentence.
        harmed: Gold entities that are found without it and lost with it, all else equal.
        helped: Gold entities that are found with it and lost without it.
        used: Sentences that adapted to it.
        examples: Places of the first sentences that it harmed.
    """

    neighbor: Neighbor
    harmed: int
    helped: int
    used: int
    examples: tuple[str, ...]


def source_effects(
    model: NerModel,
    sentences: Sequence[Sentence],
    *,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> list[SourceEffect]:
    """The source sentences that harm gold entities, those that harm most first.

    A sentence is labeled with all its neighbors and with all but each of them; only sentences that
    adaptation changes are looked at so closely. No sentence is blamed for what it does to itself.
    """
    labeled = [sentence for sentence in sentences if sentence.labeled]
    if model.parts.datastore is None or not labeled:
        return []
    plain = model.predict_stream(labeled, adapt=False)
    adapted = model.predict_stream(labeled, adapt=True)
    effects = _Effects()
    pairs = zip(labeled, plain, adapted, strict=True)
    for n_done, (sentence, before, after) in enumerate(pairs, start=1):
        for neighbor in after.neighbors:
            effects.used[neighbor.position] += 1
            effects.neighbors.setdefault(neighbor.position, neighbor)
        if before.spans != after.spans:
            effects.add(sentence, model.explain(sentence.with_spans(None)))
        progress(n_done)
    return effects.harmful()


class _Effects:
    """Counts effects by the position of source sentences."""

    def __init__(self) -> None:
        self.neighbors: dict[int, Neighbor] = {}
        self.used: Counter[int] = Counter()
        self._harmed: Counter[int] = Counter()
        self._helped: Counter[int] = Counter()
        self._examples: dict[int, list[str]] = {}

    def add(self, sentence: Sentence, explanation: Explanation) -> None:
        """Compare the prediction with all neighbors to those without each of them."""
        gold = set(sentence.spans or ())
        with_all = gold & set(explanation.adapted.spans)
        every = range(len(explanation.neighbors))
        for number, neighbor in enumerate(explanation.neighbors):
            if neighbor.sentence.words == sentence.words:
                continue
            without = explanation.with_neighbors(*(i for i in every if i != number))
            if without is None:
                continue
            right_without = gold & set(without.spans)
            harmed, helped = len(right_without - with_all), len(with_all - right_without)
            self._harmed[neighbor.position] += harmed
            self._helped[neighbor.position] += helped
            if harmed:
                self._examples.setdefault(neighbor.position, []).append(sentence.place)

    def harmful(self) -> list[SourceEffect]:
        """The sentences that harm, by what they harm more than they help."""
        effects = [
            SourceEffect(
                self.neighbors[position],
                harmed,
                self._helped[position],
                self.used[position],
                tuple(self._examples[position][:3]),
            )
            for position, harmed in self._harmed.items()
            if harmed and position in self.neighbors
        ]
        return sorted(effects, key=lambda effect: (effect.helped - effect.harmed, -effect.harmed))
