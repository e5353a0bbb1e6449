"""Tables of F1 with color as an aid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metacross.study.plan import fraction_name
from metacross.study.report.blocks import (
    MISSING,
    Block,
    Entry,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.number_format import signed
from metacross.study.report.score_tables import mean_difference
from metacross.study.statistics import ResultsGrid, spread


def heat_section(grid: ResultsGrid) -> Section:
    """Systems by targets, in every fraction."""
    return Section("heat", "Heat maps", tuple(_blocks(grid)))


def _blocks(grid: ResultsGrid) -> Iterator[Block]:
    yield Paragraph(
        "The stronger the color, the higher the F1 in its table; in differences, the further from "
        "the base, in one color above and in another below it."
    )
    for fraction in grid.fractions:
        yield _f1_map(grid, fraction)
        if grid.reference in grid.systems(fraction) and len(grid.systems(fraction)) > 1:
            yield _difference_map(grid, fraction)


def _f1_map(grid: ResultsGrid, fraction: float) -> Table:
    values = {
        system: [
            own.mean if (own := spread(grid.at(fraction, system, target))) else None
            for target in grid.targets_in(fraction)
        ]
        for system in grid.systems(fraction)
    }
    known = [value for row in values.values() for value in row if value is not None]
    low, high = min(known), max(known)
    rows = [
        Row(system, tuple(_f1_entry(value, low, high) for value in row))
        for system, row in values.items()
    ]
    return Table(
        f"F1 in points, {fraction_name(fraction)}",
        ("system", *grid.targets_in(fraction)),
        tuple(rows),
    )


def _f1_entry(value: float | None, low: float, high: float) -> Entry:
    if value is None:
        return Entry(MISSING)
    return Entry(f"{value:.1f}", heat=(value - low) / (high - low) if high > low else 0.0)


def _difference_map(grid: ResultsGrid, fraction: float) -> Table:
    values = {
        system: [
            mean_difference(
                grid.at(fraction, system, target), grid.at(fraction, grid.reference, target)
            )
            for target in grid.targets_in(fraction)
        ]
        for system in grid.systems(fraction)
        if system != grid.reference
    }
    furthest = _furthest([value for row in values.values() for value in row])
    rows = [
        Row(system, tuple(_difference_entry(value, furthest) for value in row))
        for system, row in values.items()
    ]
    return Table(
        f"Difference to {grid.reference} in points, {fraction_name(fraction)}",
        ("system", *grid.targets_in(fraction)),
        tuple(rows),
    )


def _difference_entry(value: float | None, furthest: float) -> Entry:
    if value is None:
        return Entry(MISSING)
    return Entry(signed(value), heat=value / furthest if furthest else 0.0)


def _furthest(values: Sequence[float | None]) -> float:
    return max((abs(value) for value in values if value is not None), default=0.0)
