"""Tables of F1 by system and target, and of the differences to the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metacross.study.paper_results import PAPER, paper_row
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions, compare_systems
from metacross.study.report.blocks import MISSING, Block, Entry, Heading, Row, Section, Table
from metacross.study.report.number_format import difference_entry, mean_entry
from metacross.study.report.significance_text import TEST_DESCRIPTION, significance_caption
from metacross.study.statistics import (
    MeanF1,
    ResultsGrid,
    average_difference,
    average_f1,
    mean_difference,
    mean_f1,
)


def scores_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """F1 for each fraction."""
    return Section("scores", "Scores", tuple(_blocks(grid, stored)))


def _blocks(grid: ResultsGrid, stored: StoredPredictions) -> Iterator[Block]:
    compared = [fraction for fraction in grid.fractions if grid.can_compare_systems(fraction)]
    if compared and stored.has_any(grid.results):
        yield TEST_DESCRIPTION
    for fraction in grid.fractions:
        yield Heading(fraction_name(fraction))
        yield score_table(grid, fraction)
        if fraction in compared:
            yield difference_table(grid, stored, fraction)


def score_table(grid: ResultsGrid, fraction: float) -> Table:
    """Systems by targets; the paper's values follow those of the same system."""
    targets, expected_seeds = grid.targets_in(fraction), grid.max_seeds(fraction)
    systems = grid.systems_in(fraction)
    means = [_system_means(grid, fraction, system) for system in systems]
    shades = _shades_by_column([[_points(mean) for mean in row] for row in means])
    rows = []
    for system, system_means, row_shades in zip(systems, means, shades, strict=True):
        entries = [
            mean_entry(mean, expected_seeds=expected_seeds, shade=shade)
            for mean, shade in zip(system_means, row_shades, strict=True)
        ]
        rows.append(Row(system, tuple(entries)))
        rows += _paper_rows(grid, fraction, system)
    has_paper = len(rows) > len(systems)
    return Table(
        _score_caption(grid, fraction, has_paper=has_paper),
        ("system", *targets, "average"),
        tuple(rows),
        color_note="The stronger the color, the higher the F1 within its column.",
    )


def difference_table(grid: ResultsGrid, stored: StoredPredictions, fraction: float) -> Table:
    """The other systems against the baseline, with significance on each target."""
    targets = grid.targets_in(fraction)
    systems = [system for system in grid.systems_in(fraction) if system != grid.baseline]
    points = {system: _differences(grid, fraction, system) for system in systems}
    largest = max((abs(value) for row in points.values() for value in row if value), default=0.0)
    rows = []
    for system in systems:
        comparisons = [
            compare_systems(
                stored, grid.at(fraction, system, target), grid.at(fraction, grid.baseline, target)
            )
            for target in targets
        ]
        entries = [
            difference_entry(value, comparison, shade=value / largest if value else None)
            for value, comparison in zip(points[system], comparisons, strict=True)
        ]
        average = difference_entry(average_difference(grid, fraction, system), None)
        rows.append(Row(system, (*entries, average)))
    return Table(
        f"Difference to {grid.baseline} in points of F1, {fraction_name(fraction)}: mean over the "
        f"seeds that both have. {_average_text(grid, fraction)}"
        f"{significance_caption(grid, stored)}",
        ("system", *targets, "average"),
        tuple(rows),
        color_note=f"Blue is above {grid.baseline}, orange is below, stronger for larger "
        "differences. Averages and differences that are not significant have no color.",
    )


def _system_means(grid: ResultsGrid, fraction: float, system: str) -> list[MeanF1 | None]:
    means = [mean_f1(grid.at(fraction, system, target)) for target in grid.targets_in(fraction)]
    return [*means, average_f1(grid, fraction, system)]


def _differences(grid: ResultsGrid, fraction: float, system: str) -> list[float | None]:
    return [
        mean_difference(grid.at(fraction, system, target), grid.at(fraction, grid.baseline, target))
        for target in grid.targets_in(fraction)
    ]


def _paper_rows(grid: ResultsGrid, fraction: float, system: str) -> list[Row]:
    published = paper_row(fraction, system)
    if published is None:
        return []
    values = [published.f1s.get(target) for target in grid.targets_in(fraction)]
    values.append(published.average_over(grid.shared_targets(fraction)))
    entries = [Entry(MISSING if value is None else f"{value:.2f}") for value in values]
    return [Row(f"{system}, paper", tuple(entries), tone="muted")]


def _shades_by_column(values: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """Where each value lies between the lowest (0) and the highest (1) of its column; None where
    there is no value.

    >>> _shades_by_column([[50.0, 70.0], [60.0, None]])
    [[0.0, 0.0], [1.0, None]]
    """
    columns = []
    for column in zip(*values, strict=True):
        known = [value for value in column if value is not None]
        low, high = min(known, default=0.0), max(known, default=0.0)
        width = high - low or 1.0
        columns.append([None if value is None else (value - low) / width for value in column])
    return [list(row) for row in zip(*columns, strict=True)]


def _points(mean: MeanF1 | None) -> float | None:
    return None if mean is None else mean.mean


def _score_caption(grid: ResultsGrid, fraction: float, *, has_paper: bool) -> str:
    n_seeds = grid.max_seeds(fraction)
    seeds = f"mean ± standard deviation over {n_seeds} seeds" if n_seeds > 1 else "one seed"
    paper = (
        f" Averages of the {PAPER} are over the same targets. The paper used another encoder "
        "and other sentences: compare differences between systems, not absolute values."
    )
    return (
        f"F1 in points, {fraction_name(fraction)}: {seeds}. {_average_text(grid, fraction)}"
        f"{paper if has_paper else ''}"
    )


def _average_text(grid: ResultsGrid, fraction: float) -> str:
    shared = grid.shared_targets(fraction)
    if not shared:
        return "No average: there is no target with results of all systems."
    return f"Average over {', '.join(shared)}."
