"""Tables of F1 without and with adaptation."""

from __future__ import annotations

from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions, compare_modes
from metacross.study.report.blocks import Block, Paragraph, Row, Section, Table
from metacross.study.report.number_format import (
    gain_entry,
    p_value_entry,
    points_entry,
)
from metacross.study.report.significance_text import TEST_DESCRIPTION, significance_caption
from metacross.study.statistics import (
    ResultsBySeed,
    ResultsGrid,
    plain_and_adapted_f1,
    with_both_modes,
)


def adaptation_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """A table for each fraction with results in both modes."""
    tables = [_modes_table(grid, stored, fraction) for fraction in grid.fractions]
    blocks: list[Block] = [table for table in tables if table.rows]
    if not blocks:
        blocks.append(Paragraph("No system was evaluated both with and without adaptation."))
    elif len(grid.systems) == 1 and stored.has_any(grid.results):
        blocks.insert(0, TEST_DESCRIPTION)  # with several systems, the scores section has it
    return Section("adaptation", "Effect of adaptation", tuple(blocks))


def _modes_table(grid: ResultsGrid, stored: StoredPredictions, fraction: float) -> Table:
    rows = [
        _modes_row(stored, target, system, results)
        for system in grid.systems_in(fraction)
        for target in grid.targets_in(fraction)
        if (results := with_both_modes(grid.at(fraction, system, target)))
    ]
    return Table(
        f"F1 in points without and with adaptation, {fraction_name(fraction)}: mean over seeds."
        f"{significance_caption(grid, stored)}",
        ("target", "not adapted", "adapted", "difference", "p"),
        tuple(rows),
    )


def _modes_row(stored: StoredPredictions, target: str, system: str, results: ResultsBySeed) -> Row:
    plain, adapted = plain_and_adapted_f1(results)
    comparison = compare_modes(stored, results)
    entries = (
        points_entry(plain),
        points_entry(adapted),
        gain_entry(adapted - plain, comparison),
        p_value_entry(comparison),
    )
    return Row(target, entries, group=system)
