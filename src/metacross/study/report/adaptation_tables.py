"""Tables of F1 without and with adaptation."""

from __future__ import annotations

from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions, compared_modes
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


def adaptation_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """Not adapted against adapted."""
    tables = [_readings_table(grid, stored, fraction) for fraction in grid.fractions]
    blocks: list[Block] = [table for table in tables if table.rows]
    if not blocks:
        blocks.append(Paragraph("No system was read both with and without adaptation."))
    elif len(grid.systems()) == 1 and stored.keeps_any(grid.results):
        blocks.insert(0, Paragraph(TEST_WORDS))  # otherwise it stands with the scores
    return Section("adaptation", "What adaptation brings", tuple(blocks))


def _readings_table(grid: ResultsGrid, stored: StoredPredictions, fraction: float) -> Table:
    rows = []
    for system in grid.systems(fraction):
        for target in grid.targets_in(fraction):
            results = both_modes(grid.at(fraction, system, target))
            plain, adapted = spread(results, "plain"), spread(results, "adapted")
            if plain is None or adapted is None:
                continue
            comparison = compared_modes(stored, results)
            entries = (
                points_entry(plain.mean),
                points_entry(adapted.mean),
                plain_difference_entry(adapted.mean - plain.mean, comparison),
                p_entry(comparison),
            )
            rows.append(Row(target, entries, group=system))
    return Table(
        f"F1 in points without and with adaptation, {fraction_name(fraction)}: mean over seeds."
        f"{significance_caption(grid, stored)}",
        ("target", "not adapted", "adapted", "difference", "p"),
        tuple(rows),
    )


def both_modes(results: Seeds) -> Seeds:
    """The results that were read both with and without adaptation."""
    return {
        seed: result for seed, result in results.items() if {"plain", "adapted"} <= {*result.counts}
    }
