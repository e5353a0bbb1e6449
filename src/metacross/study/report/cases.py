"""Finds the sentences that two systems read differently."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metacross.errors import DataError
from metacross.study.predictions import StoredPredictions
from metacross.study.results import Result
from metacross.study.statistics import Seeds
from metacross.text.sentence import Corpus, Sentence, Span

Kind = Literal["fixed", "broken", "still wrong"]
KINDS: tuple[Kind, ...] = ("fixed", "broken", "still wrong")
MOST_CASES = 40
"""How many sentences of a target and kind are shown."""


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence that two systems read differently.

    ``number`` counts the target's sentences from 1. ``neighbors`` are the source sentences that
    the second system learned from, with their similarity; empty where the corpus was not kept.
    """

    number: int
    gold: Sentence
    theirs: tuple[Span, ...]
    ours: tuple[Span, ...]
    neighbors: tuple[tuple[Sentence, float], ...]

    @property
    def kind(self) -> Kind:
        """Fixed: the second system alone is right; broken: the first alone is."""
        if self.ours == self.gold.spans:
            return "fixed"
        return "broken" if self.theirs == self.gold.spans else "still wrong"


@dataclass(frozen=True, slots=True)
class TargetCases:
    """The cases of a target: how many of each kind there are, and those that are shown."""

    target: str
    seed: int
    n_cases: dict[Kind, int]
    shown: tuple[Case, ...]


def target_cases(stored: StoredPredictions, theirs: Seeds, ours: Seeds) -> TargetCases | None:
    """What two systems read differently with the smallest seed that both have; None where there is
    none, or its predictions were not kept.
    """
    shared = {*theirs} & {*ours}
    if not shared:
        return None
    seed = min(shared)
    cases = cases_of(stored, theirs[seed], ours[seed])
    if cases is None:
        return None
    by_kind = {kind: [case for case in cases if case.kind == kind] for kind in KINDS}
    n_cases: dict[Kind, int] = {kind: len(own) for kind, own in by_kind.items()}
    shown = [case for own in by_kind.values() for case in _drawn(own)]
    shown.sort(key=lambda case: case.number)
    return TargetCases(ours[seed].target, seed, n_cases, tuple(shown))


def cases_of(stored: StoredPredictions, theirs: Result, ours: Result) -> list[Case] | None:
    """All sentences that two results read differently, in the modes that the tables show; None
    where predictions were not kept or the corpora are not the same.
    """
    gold, source = stored.gold(ours), stored.source(ours)
    their_sentences, our_sentences = stored.sentences(theirs), stored.sentences(ours)
    same_corpus = theirs.digests.get("target corpus") == ours.digests.get("target corpus")
    if gold is None or their_sentences is None or our_sentences is None or not same_corpus:
        return None
    cases = []
    rows = zip(gold, their_sentences, our_sentences, strict=True)
    for number, (sentence, their, our) in enumerate(rows, start=1):
        their_spans, our_spans = their.spans[theirs.reported_mode], our.spans[ours.reported_mode]
        if their_spans != our_spans:
            neighbors = _neighbors(source, our.neighbors)
            cases.append(Case(number, sentence, their_spans, our_spans, neighbors))
    return cases


def _drawn(cases: Sequence[Case]) -> Sequence[Case]:
    """Some of them at random, not the prettiest; the same ones every time."""
    if len(cases) <= MOST_CASES:
        return cases
    return random.Random(0).sample(cases, MOST_CASES)


def _neighbors(
    source: Corpus | None, positions: Sequence[tuple[int, float]]
) -> tuple[tuple[Sentence, float], ...]:
    if source is None:
        return ()
    for position, _ in positions:
        if not 0 <= position < len(source):
            raise DataError(
                f"{source.name}: expected a neighbor below {len(source):,}, found {position:,}"
            )
    return tuple((source[position], similarity) for position, similarity in positions)
