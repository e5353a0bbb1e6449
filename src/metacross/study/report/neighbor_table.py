"""A table of the gain by adaptation against the similarity of the neighbors."""

from __future__ import annotations

from collections.abc import Iterator

from metacross.study.neighbor_gain import Quarter, gain_by_quarter
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions
from metacross.study.report.blocks import (
    MISSING,
    Block,
    Code,
    Entry,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.number_format import signed
from metacross.study.statistics import ResultsGrid, with_both_modes


def neighbors_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """Whether more similar neighbors help more, for the first fraction."""
    blocks = tuple(_neighbor_blocks(grid, stored))
    return Section("neighbors", "Gain by similarity of the neighbors", blocks)


def _neighbor_blocks(grid: ResultsGrid, stored: StoredPredictions) -> Iterator[Block]:
    fraction, system = grid.fractions[0], grid.adapting_system
    if system is None:
        yield Paragraph("No system adapts.")
        return
    rows = []
    for target in grid.targets_in(fraction):
        results = with_both_modes(grid.at(fraction, system, target))
        for number, quarter in enumerate(gain_by_quarter(stored, results), start=1):
            rows.append(Row(str(number), _quarter_entries(quarter), group=target))
    if not rows:
        yield Paragraph(f"No predictions of {system} with neighbors are stored.")
        return
    yield Paragraph(
        "If the similarity of the neighbors matters, the gain grows from the first quarter to the "
        "fourth. If it does not grow, distant neighbors may still be worse than near ones. To "
        "measure that, adapt to distant ones:"
    )
    yield Code("metacross evaluate MODEL FILE --set retrieval.skip_nearest=1000\n")
    yield Table(
        f"Gain of {system} by adaptation, {fraction_name(fraction)}: the sentences of each target "
        "in four quarters, by the mean similarity of their neighbors; counts are summed over "
        "seeds. A quarter has few entities, so small differences between quarters mean nothing.",
        ("quarter", "similarity", "sentences", "gold entities", "adapted - not adapted"),
        tuple(rows),
    )


def _quarter_entries(quarter: Quarter) -> tuple[Entry, ...]:
    return (
        Entry(f"{quarter.lowest:.3f} to {quarter.highest:.3f}"),
        Entry(f"{quarter.n_sentences:,}"),
        Entry(f"{quarter.n_gold:,}"),
        Entry(MISSING if quarter.gain is None else signed(quarter.gain)),
    )
