"""Shows the sentences for which the baseline and the adapting system predict different entities."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metacross.errors import DataError
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions
from metacross.study.report.blocks import (
    Block,
    Card,
    Cards,
    Entry,
    Filter,
    LabeledSentence,
    Paragraph,
    Row,
    Section,
    Table,
    Tone,
)
from metacross.study.results import Result
from metacross.study.statistics import ResultsBySeed, ResultsGrid
from metacross.text.sentence import Corpus, Sentence, Span

Kind = Literal["fixed", "broken", "still wrong"]
KINDS: tuple[Kind, ...] = ("fixed", "broken", "still wrong")
MAX_CASES = 40
"""How many sentences of a target and kind are shown at most."""

_TONES: dict[Kind, Tone] = {"fixed": "good", "broken": "bad", "still wrong": "muted"}


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence for which two systems predict different entities.

    ``number`` counts the target's sentences from 1. ``neighbors`` are the source sentences that
    the second system adapted to, with their similarity; empty where the corpus is not stored.
    """

    number: int
    gold: Sentence
    baseline_spans: tuple[Span, ...]
    system_spans: tuple[Span, ...]
    neighbors: tuple[tuple[Sentence, float], ...]

    @property
    def kind(self) -> Kind:
        """Fixed: only the second system is right. Broken: only the baseline is right."""
        if self.system_spans == self.gold.spans:
            return "fixed"
        return "broken" if self.baseline_spans == self.gold.spans else "still wrong"


@dataclass(frozen=True, slots=True)
class TargetCases:
    """The cases of a target: how many of each kind there are, and those to show."""

    target: str
    seed: int
    n_cases: dict[Kind, int]
    shown: tuple[Case, ...]


def case_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """The baseline against the adapting system, for the first fraction."""
    return Section("cases", "Case study", _blocks(grid, stored))


def _blocks(grid: ResultsGrid, stored: StoredPredictions) -> tuple[Block, ...]:
    fraction, system, baseline = grid.fractions[0], grid.adapting_system, grid.baseline
    if baseline not in grid.systems_in(fraction) or system is None or system == baseline:
        return (Paragraph(f"The case study needs {baseline} and another system that adapts."),)
    by_target = [
        target_cases(stored, grid.at(fraction, baseline, target), grid.at(fraction, system, target))
        for target in grid.targets_in(fraction)
    ]
    known = [cases for cases in by_target if cases is not None]
    if not known:
        return (
            Paragraph(f"No predictions of {baseline} and {system} with the same seed are stored."),
        )
    introduction = Paragraph(
        f"Sentences for which {baseline} and {system} predict different entities, "
        f"{fraction_name(fraction)}. Fixed: {baseline} is wrong and {system} is right. Broken: "
        f"{baseline} is right and {system} is wrong. Still wrong: both are wrong, in different "
        "ways. A sentence is right when all of its entities are found and no others."
    )
    return introduction, _counts_table(known), _cards(known, baseline, system)


def target_cases(
    stored: StoredPredictions, baseline: ResultsBySeed, results: ResultsBySeed
) -> TargetCases | None:
    """The cases with the smallest seed that both systems have; None where they share no seed, or
    its predictions are not stored.
    """
    shared_seeds = {*baseline} & {*results}
    if not shared_seeds:
        return None
    seed = min(shared_seeds)
    cases = find_cases(stored, baseline[seed], results[seed])
    if cases is None:
        return None
    by_kind = {kind: [case for case in cases if case.kind == kind] for kind in KINDS}
    n_cases = {kind: len(by_kind[kind]) for kind in KINDS}
    shown = [case for kind in KINDS for case in _sample(by_kind[kind])]
    shown.sort(key=lambda case: case.number)
    return TargetCases(results[seed].target, seed, n_cases, tuple(shown))


def find_cases(stored: StoredPredictions, baseline: Result, result: Result) -> list[Case] | None:
    """All sentences with different predictions in the reported modes; None where predictions are
    not stored, or the results are of different corpora.
    """
    gold, source = stored.gold(result), stored.source(result)
    baseline_sentences, sentences = stored.sentences(baseline), stored.sentences(result)
    same_corpus = baseline.digests.get("target corpus") == result.digests.get("target corpus")
    if gold is None or baseline_sentences is None or sentences is None or not same_corpus:
        return None
    cases = []
    rows = zip(gold, baseline_sentences, sentences, strict=True)
    for number, (gold_sentence, baseline_sentence, sentence) in enumerate(rows, start=1):
        baseline_spans = baseline_sentence.spans[baseline.reported_mode]
        spans = sentence.spans[result.reported_mode]
        if baseline_spans != spans:
            neighbors = _neighbors(source, sentence.neighbors)
            cases.append(Case(number, gold_sentence, baseline_spans, spans, neighbors))
    return cases


def _sample(cases: Sequence[Case]) -> Sequence[Case]:
    """A random sample, the same every time, so that nobody picks the best looking cases."""
    return random.Random(0).sample(cases, MAX_CASES) if len(cases) > MAX_CASES else cases


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


def _counts_table(targets: Sequence[TargetCases]) -> Table:
    rows = []
    for cases in targets:
        entries = [Entry(str(cases.seed))]
        for kind in KINDS:
            n_cases, n_shown = cases.n_cases[kind], sum(c.kind == kind for c in cases.shown)
            note = "" if n_shown == n_cases else f"{n_shown} shown"
            entries.append(Entry(f"{n_cases:,}", note=note))
        rows.append(Row(cases.target, tuple(entries)))
    return Table(
        f"Number of sentences. At most {MAX_CASES} of a kind are shown, sampled at random.",
        ("target", "seed", *KINDS),
        tuple(rows),
    )


def _cards(targets: Sequence[TargetCases], baseline: str, system: str) -> Cards:
    cards = [
        _card(case, cases.target, (baseline, system), choices=(number, KINDS.index(case.kind)))
        for number, cases in enumerate(targets)
        for case in cases.shown
    ]
    languages = Filter("Language", tuple(cases.target for cases in targets), selected=0)
    return Cards("all-cases", tuple(cards), (languages, Filter("Kind", KINDS)))


def _card(case: Case, target: str, systems: tuple[str, str], *, choices: tuple[int, int]) -> Card:
    baseline, system = systems
    language = case.gold.language or target
    baseline_verdict = "right" if case.kind == "broken" else "wrong"
    verdict = "right" if case.kind == "fixed" else "wrong"
    sentences = [
        LabeledSentence("gold", case.gold, case.gold.spans or (), language),
        LabeledSentence(
            f"{baseline} ({baseline_verdict})", case.gold, case.baseline_spans, language
        ),
        LabeledSentence(f"{system} ({verdict})", case.gold, case.system_spans, language),
    ]
    for source, similarity in case.neighbors:
        name = f"adapted to ({similarity:.2f})"
        sentences.append(LabeledSentence(name, source, source.spans or (), source.language))
    return Card(
        heading=f"{target}, sentence {case.number:,}",
        verdict=case.kind,
        tone=_TONES[case.kind],
        sentences=tuple(sentences),
        choices=choices,
    )
