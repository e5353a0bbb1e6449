"""Tables of F1 by label."""

from __future__ import annotations

from metacross.study.plan import fraction_name
from metacross.study.report.blocks import MISSING, Entry, Row, Section, Table
from metacross.study.report.number_format import points_entry
from metacross.study.statistics import ResultsGrid, label_score, mean_label_f1


def labels_section(grid: ResultsGrid) -> Section:
    """Systems by labels on each target, a table for each fraction."""
    tables = tuple(_label_table(grid, fraction) for fraction in grid.fractions)
    return Section("labels", "Scores by entity type", tables)


def _label_table(grid: ResultsGrid, fraction: float) -> Table:
    results = grid.results_in(fraction)
    labels = tuple(dict.fromkeys(label for result in results for label in result.labels))
    rows: list[Row] = []
    for target in grid.targets_in(fraction):
        rows += _system_rows(grid, fraction, target, labels)
        rows.append(_gold_row(grid, fraction, target, labels))
    return Table(
        f"F1 in points by entity type, {fraction_name(fraction)}: mean over seeds. A dash means: "
        "the system was not trained on this entity type, or there are neither gold nor predicted "
        "entities.",
        ("system", *labels),
        tuple(rows),
    )


def _system_rows(
    grid: ResultsGrid, fraction: float, target: str, labels: tuple[str, ...]
) -> list[Row]:
    rows = []
    for system in grid.systems_in(fraction):
        results = grid.at(fraction, system, target)
        entries = tuple(points_entry(mean_label_f1(results, label)) for label in labels)
        rows.append(Row(system, entries, group=target))
    return rows


def _gold_row(grid: ResultsGrid, fraction: float, target: str, labels: tuple[str, ...]) -> Row:
    """Gold entities are the same for all systems and seeds: any result has them."""
    result = next(result for result in grid.results_in(fraction) if result.target == target)
    n_gold = [label_score(result, label).gold for label in labels]
    entries = tuple(Entry(f"{n:,}" if n else MISSING) for n in n_gold)
    return Row("gold entities", entries, group=target, tone="muted")
