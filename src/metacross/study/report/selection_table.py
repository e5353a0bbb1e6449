"""A table of what choosing the weights by the source language costs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from metacross.study.plan import fraction_name
from metacross.study.report.blocks import Block, Entry, Paragraph, Row, Section, Table
from metacross.study.report.number_format import points_entry, signed
from metacross.study.results import Result
from metacross.study.statistics import ResultsGrid, Seeds


@dataclass(frozen=True, slots=True)
class Choices:
    """F1 on a target, not adapted, in points: of the weights chosen by the source language's dev
    corpus, of the last that were validated, and of the best of all on the target itself.
    """

    by_source: float
    last: float
    oracle: float


def selection_section(grid: ResultsGrid) -> Section:
    """Three ways to choose, one of which nobody has."""
    fraction, rows = grid.fractions[0], []
    for target in grid.targets_in(fraction):
        for system in grid.systems(fraction):
            choices = mean_choices(grid.at(fraction, system, target))
            if choices is not None:
                rows.append(Row(system, _entries(choices), group=target))
    table: Block = Table(
        f"F1 in points, not adapted, {fraction_name(fraction)}: mean over seeds, on a sample of each target's "
        "sentences (curve_sentences of the study, 500 unless changed), so not the figures of the "
        "tables above. The best validation on the target is an oracle: it needs the labels that "
        "are to be predicted.",
        ("system", "source dev", "last", "best on target (oracle)", "source dev - oracle"),
        tuple(rows),
    )
    nothing = Paragraph("No validations on the targets were kept.")
    return Section("selection", "Which weights were chosen", (table if rows else nothing,))


def _entries(choices: Choices) -> tuple[Entry, ...]:
    return (
        points_entry(choices.by_source),
        points_entry(choices.last),
        points_entry(choices.oracle),
        Entry(signed(choices.by_source - choices.oracle)),
    )


def mean_choices(results: Seeds) -> Choices | None:
    """Over the seeds that were validated on their target, at the chosen step too; None: none."""
    found = [_choices(result) for result in results.values()]
    known = [own for own in found if own is not None]
    if not known:
        return None
    return Choices(
        by_source=statistics.fmean(own.by_source for own in known),
        last=statistics.fmean(own.last for own in known),
        oracle=statistics.fmean(own.oracle for own in known),
    )


def _choices(result: Result) -> Choices | None:
    f1s = dict(result.training.target_validations.get(result.target, ()))
    if result.training.best_step not in f1s:
        return None
    chosen, last, best = f1s[result.training.best_step], f1s[max(f1s)], max(f1s.values())
    return Choices(100 * chosen, 100 * last, 100 * best)
