"""Tables of F1 without and with adaptation."""

from __future__ import annotations

from metacross.study.predictions import Evidence, compared_readings
from metacross.study.report.blocks import (
    Block,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.number_format import (
    TEST_WORDS,
    p_entry,
    plain_difference_entry,
    points_entry,
)
from metacross.study.report.score_tables import significance_caption
from metacross.study.statistics import ResultsGrid, Seeds, spread


def adaptation_section(grid: ResultsGrid, evidence: Evidence) -> Section:
    """Not adapted against adapted."""
    tables = [_readings_table(grid, evidence, setting) for setting in grid.settings]
    blocks: list[Block] = [table for table in tables if table.rows]
    if not blocks:
        blocks.append(Paragraph("No system was read both with and without adaptation."))
    elif len(grid.systems()) == 1 and evidence.keeps_any(grid.cells):
        blocks.insert(0, Paragraph(TEST_WORDS))  # otherwise it stands with the scores
    return Section("adaptation", "What adaptation brings", tuple(blocks))


def _readings_table(grid: ResultsGrid, evidence: Evidence, setting: str) -> Table:
    rows = []
    for system in grid.systems(setting):
        for target in grid.targets_in(setting):
            cells = both_readings(grid.at(setting, system, target))
            plain, adapted = spread(cells, "plain"), spread(cells, "adapted")
            if plain is None or adapted is None:
                continue
            comparison = compared_readings(evidence, cells)
            entries = (
                points_entry(plain.mean),
                points_entry(adapted.mean),
                plain_difference_entry(adapted.mean - plain.mean, comparison),
                p_entry(comparison),
            )
            rows.append(Row(target, entries, group=system))
    return Table(
        f"F1 in points without and with adaptation, {setting}: mean over seeds."
        f"{significance_caption(grid, evidence)}",
        ("target", "not adapted", "adapted", "difference", "p"),
        tuple(rows),
    )


def both_readings(cells: Seeds) -> Seeds:
    """The cells that were read both with and without adaptation."""
    return {seed: cell for seed, cell in cells.items() if {"plain", "adapted"} <= {*cell.readings}}
