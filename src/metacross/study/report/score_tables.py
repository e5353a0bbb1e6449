"""Tables of F1: systems by targets, beside the paper's, and their differences to the base."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from metacross.study.paper_results import PAPER, paper_row
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions, compared_systems
from metacross.study.report.blocks import (
    MISSING,
    Block,
    Entry,
    Heading,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.number_format import (
    TEST_CAPTION,
    TEST_WORDS,
    difference_entry,
    spread_entry,
)
from metacross.study.statistics import ResultsGrid, Seeds, average, spread

_PAPERS = (
    " The paper's rows are averaged over the same targets; with another encoder and other "
    "sentences, they are there to compare differences and not heights."
)


def scores_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """F1 in every fraction."""
    return Section("scores", "Scores", tuple(_blocks(grid, stored)))


def _blocks(grid: ResultsGrid, stored: StoredPredictions) -> Iterator[Block]:
    if stored.keeps_any(grid.results) and any(
        _has_differences(grid, fraction) for fraction in grid.fractions
    ):
        yield Paragraph(TEST_WORDS)
    for fraction in grid.fractions:
        yield Heading(fraction_name(fraction))
        yield score_table(grid, fraction)
        if _has_differences(grid, fraction):
            yield difference_table(grid, stored, fraction)


def _has_differences(grid: ResultsGrid, fraction: float) -> bool:
    return grid.reference in grid.systems(fraction) and len(grid.systems(fraction)) > 1


def score_table(grid: ResultsGrid, fraction: float) -> Table:
    """Systems by targets; the paper's figures stand under those of the same system."""
    rows = []
    for system in grid.systems(fraction):
        rows.append(_system_row(grid, fraction, system))
        beside = _paper_row(grid, fraction, system)
        if beside is not None:
            rows.append(beside)
    papers = _PAPERS if any(row.quiet for row in rows) else ""
    n_seeds = grid.most_seeds(fraction)
    seeds = (
        f"mean ± standard deviation over {n_seeds} seeds" if n_seeds > 1 else "one seed, no spread"
    )
    return Table(
        f"F1 in points, {fraction_name(fraction)}: {seeds}. {_average_caption(grid, fraction)}{papers}",
        ("system", *grid.targets_in(fraction), "average"),
        tuple(rows),
    )


def _system_row(grid: ResultsGrid, fraction: float, system: str) -> Row:
    expected = grid.most_seeds(fraction)
    spreads = [spread(grid.at(fraction, system, target)) for target in grid.targets_in(fraction)]
    spreads.append(average(grid, fraction, system))
    return Row(system, tuple(spread_entry(own, expected_seeds=expected) for own in spreads))


def _paper_row(grid: ResultsGrid, fraction: float, system: str) -> Row | None:
    published = paper_row(fraction, system)
    if published is None:
        return None
    values = [published.f1s.get(target) for target in grid.targets_in(fraction)]
    values.append(published.average_over(grid.shared_targets(fraction)))
    entries = [Entry(MISSING if value is None else f"{value:.2f}") for value in values]
    return Row(f"{system}, {PAPER}", tuple(entries), quiet=True)


def _average_caption(grid: ResultsGrid, fraction: float) -> str:
    shared = grid.shared_targets(fraction)
    if not shared:
        return "No average: no target is there for all systems."
    return f"Average over {', '.join(shared)}."


def difference_table(grid: ResultsGrid, stored: StoredPredictions, fraction: float) -> Table:
    """The other systems against the base on each target, with the significance, and on average."""
    targets, shared = grid.targets_in(fraction), grid.shared_targets(fraction)
    base, rows = grid.reference, []
    for system in grid.systems(fraction):
        if system == base:
            continue
        entries, points = [], {}
        for target in targets:
            ours, theirs = grid.at(fraction, system, target), grid.at(fraction, base, target)
            points[target] = mean_difference(ours, theirs)
            entries.append(difference_entry(points[target], compared_systems(stored, ours, theirs)))
        known = [own for own in (points[target] for target in shared) if own is not None]
        whole = statistics.fmean(known) if known and len(known) == len(shared) else None
        rows.append(Row(system, (*entries, difference_entry(whole, None))))
    return Table(
        f"Difference to {base} in points of F1, {fraction_name(fraction)}: mean over the seeds that both have. "
        f"{_average_caption(grid, fraction)}{significance_caption(grid, stored)}",
        ("system", *targets, "average"),
        tuple(rows),
    )


def significance_caption(grid: ResultsGrid, stored: StoredPredictions) -> str:
    """What p is, where there can be any."""
    return f" {TEST_CAPTION}" if stored.keeps_any(grid.results) else ""


def mean_difference(ours: Seeds, theirs: Seeds) -> float | None:
    """In points, over the seeds that both have; None where there are none."""
    shared = sorted({*ours} & {*theirs})
    if not shared:
        return None
    return 100 * statistics.fmean(ours[seed].f1 - theirs[seed].f1 for seed in shared)
