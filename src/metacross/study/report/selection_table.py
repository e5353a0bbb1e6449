"""A table of what it costs to select the weights by the source language."""

from __future__ import annotations

from metacross.study.plan import fraction_name
from metacross.study.report.blocks import Entry, Paragraph, Row, Section, Table
from metacross.study.report.number_format import points_entry, signed
from metacross.study.statistics import ResultsGrid
from metacross.study.training_statistics import SelectedF1, mean_selected_f1


def selection_section(grid: ResultsGrid) -> Section:
    """Three ways to select the weights, for the first fraction."""
    fraction, rows = grid.fractions[0], []
    for target in grid.targets_in(fraction):
        for system in grid.systems_in(fraction):
            selected = mean_selected_f1(grid.at(fraction, system, target))
            if selected is not None:
                rows.append(Row(system, _entries(selected), group=target))
    block = _table(fraction, rows) if rows else Paragraph("No validations on targets are stored.")
    return Section("selection", "Selection of the weights", (block,))


def _table(fraction: float, rows: list[Row]) -> Table:
    return Table(
        f"F1 in points without adaptation, {fraction_name(fraction)}: mean over seeds, on a sample "
        "of each target's sentences (curve_sentences of the study, 500 by default), so the values "
        "differ from the tables above. Selecting by the target is an oracle: it needs the labels "
        "that are to be predicted.",
        ("system", "source dev", "last", "best on target (oracle)", "source dev - oracle"),
        tuple(rows),
    )


def _entries(selected: SelectedF1) -> tuple[Entry, ...]:
    return (
        points_entry(selected.by_source),
        points_entry(selected.last),
        points_entry(selected.oracle),
        Entry(signed(selected.by_source - selected.oracle)),
    )
