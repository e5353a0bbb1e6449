"""Tables of F1 by entity type."""

from __future__ import annotations

import statistics

from metacross.metrics.scoring import Score
from metacross.study.plan import fraction_name
from metacross.study.report.blocks import MISSING, Entry, Row, Section, Table
from metacross.study.report.number_format import points_entry
from metacross.study.results import Result
from metacross.study.statistics import ResultsGrid, Seeds


def types_section(grid: ResultsGrid) -> Section:
    """Systems by labels on each target, in every fraction."""
    return Section(
        "labels",
        "By entity type",
        tuple(_types_table(grid, fraction) for fraction in grid.fractions),
    )


def _types_table(grid: ResultsGrid, fraction: float) -> Table:
    in_setting = [result for result in grid.results if result.fraction == fraction]
    labels = list(dict.fromkeys(label for result in in_setting for label in result.labels))
    rows: list[Row] = []
    for target in grid.targets_in(fraction):
        places = {system: grid.at(fraction, system, target) for system in grid.systems(fraction)}
        for system, results in places.items():
            entries = tuple(points_entry(mean_type_f1(results, label)) for label in labels)
            rows.append(Row(system, entries, group=target))
        any_cell = next(result for results in places.values() for result in results.values())
        gold = tuple(_gold_entry(any_cell, label) for label in labels)
        rows.append(Row("gold entities", gold, group=target, quiet=True))
    return Table(
        f"F1 in points by entity type, {fraction_name(fraction)}: mean over seeds. A dash: the system was not "
        "trained on this type, or it is neither there nor found.",
        ("system", *labels),
        tuple(rows),
    )


def mean_type_f1(results: Seeds, label: str) -> float | None:
    """In points, over the seeds in which the type is there or was found; None where in none."""
    scores = [_type_score(result, label) for result in results.values()]
    f1s = [score.f1 for score in scores if score.predicted + score.gold]
    return 100 * statistics.fmean(f1s) if f1s else None


def _type_score(result: Result, label: str) -> Score:
    counts = result.counts[result.reported_mode].get(label)
    return Score(counts.correct, counts.predicted, counts.gold) if counts else Score(0, 0, 0)


def _gold_entry(result: Result, label: str) -> Entry:
    gold = _type_score(result, label).gold
    return Entry(f"{gold:,}" if gold else MISSING)
