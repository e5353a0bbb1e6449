"""Writes the report of a study of active learning."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from metacross.errors import DataError
from metacross.metrics.significance import Comparison, Counts, compare, holm
from metacross.study.active_results import NOTHING, ActiveFolder, ActiveResult
from metacross.study.report.blocks import (
    MISSING,
    Block,
    Chart,
    Document,
    Entry,
    Line,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.html import html_page
from metacross.study.report.markdown import markdown_text
from metacross.study.report.number_format import difference_entry, mean_entry
from metacross.study.report.significance_text import TEST_DESCRIPTION
from metacross.study.statistics import MeanF1
from metacross.text.writing import write_atomically

BASELINE = "random"


@dataclass(frozen=True, slots=True)
class ActiveGrid:
    """Results by target, way of choosing, way of learning, size and seed."""

    results: tuple[ActiveResult, ...]

    @property
    def targets(self) -> list[str]:
        """The names of the targets."""
        return list(dict.fromkeys(r.target for r in self.results))

    @property
    def ways(self) -> list[str]:
        """How sentences were chosen, the baseline first."""
        ways = dict.fromkeys(r.way for r in self.results if r.way != NOTHING)
        return sorted(ways, key=lambda way: way != BASELINE)

    @property
    def learnings(self) -> list[str]:
        """How the models learned."""
        return list(dict.fromkeys(r.learning for r in self.results if r.learning != NOTHING))

    @property
    def sizes(self) -> list[int]:
        """Numbers of labeled sentences above 0."""
        return sorted({r.size for r in self.results} - {0})

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return sorted({r.seed for r in self.results})

    def at(self, target: str, way: str, learning: str, size: int) -> dict[int, ActiveResult]:
        """The results of all seeds."""
        if size == 0:
            way = learning = NOTHING
        return {
            r.seed: r
            for r in self.results
            if (r.target, r.way, r.learning, r.size) == (target, way, learning, size)
        }

    def mean(self, target: str, way: str, learning: str, size: int) -> MeanF1 | None:
        """The mean F1 over seeds."""
        results = self.at(target, way, learning, size)
        return MeanF1.of([r.f1 for r in results.values()]) if results else None

    def comparison(
        self, targets: Sequence[str], way: str, learning: str, sizes: Sequence[int]
    ) -> Comparison | None:
        """A way of choosing against the baseline: the counts of each sentence are summed over
        sizes and the seeds that both have. None if there is nothing to compare.
        """
        ours: list[Counts] = []
        theirs: list[Counts] = []
        for target in targets:
            pairs = [
                (mine[seed].sentence_counts, other[seed].sentence_counts)
                for size in sizes
                for mine, other in [
                    (
                        self.at(target, way, learning, size),
                        self.at(target, BASELINE, learning, size),
                    )
                ]
                for seed in mine.keys() & other.keys()
            ]
            if pairs:
                ours.append(np.sum([mine for mine, _ in pairs], axis=0))
                theirs.append(np.sum([other for _, other in pairs], axis=0))
        if not ours or way == BASELINE:
            return None
        return compare(np.concatenate(ours), np.concatenate(theirs))

    def winners(self) -> list[tuple[str, str, Comparison]]:
        """Ways of choosing that beat the baseline significantly, with the way of learning. Their
        p-values are adjusted for the number of comparisons.
        """
        compared = [
            (way, learning, comparison)
            for learning in self.learnings
            for way in self.ways
            if (comparison := self.comparison(self.targets, way, learning, self.sizes)) is not None
        ]
        adjusted = holm([comparison.p_value for _, _, comparison in compared])
        return [
            (way, learning, replace(comparison, p_value=p_value))
            for (way, learning, comparison), p_value in zip(compared, adjusted, strict=True)
            if p_value < 0.05 and comparison.difference > 0
        ]


def write_active_report(folder: ActiveFolder, title: str) -> Path:
    """Write ``report.html`` and ``report.md`` from all results in a folder."""
    results = folder.results()
    if not results:
        raise DataError(f"{folder.results_file}: expected results, found none")
    newest = {(r.target, r.seed, r.way, r.learning, r.size): r for r in results}
    grid = ActiveGrid(tuple(newest.values()))
    document = Document(title, tuple(_facts(grid)), tuple(_sections(grid)))
    path = folder.folder / "report.html"
    write_atomically(path, [html_page(document)])
    write_atomically(folder.folder / "report.md", [markdown_text(document)])
    return path


def _facts(grid: ActiveGrid) -> Iterator[str]:
    yield (
        f"Targets: {', '.join(grid.targets)}. Ways of choosing: {', '.join(grid.ways)}. "
        f"Seeds: {', '.join(map(str, grid.seeds))}. Labeled sentences: "
        f"{', '.join(map(str, grid.sizes))}."
    )
    yield "F1 is entity-level, as in conlleval; 0 sentences is the model before it learns."
    winners = grid.winners()
    if not winners:
        yield (
            f"No way of choosing beats {BASELINE} choice significantly over all targets and sizes."
        )
    for way, learning, comparison in winners:
        yield (
            f"{way} beats {BASELINE} choice with {learning}, over all targets and sizes: "
            f"{100 * comparison.difference:+.1f} points, p = {comparison.p_value:.4f} (Holm)."
        )


def _sections(grid: ActiveGrid) -> Iterator[Section]:
    yield Section("learning", "How to learn from labeled sentences", tuple(_learning_blocks(grid)))
    for learning in grid.learnings:
        blocks = tuple(_choosing_blocks(grid, learning))
        yield Section(f"choosing-{learning}", f"Which sentences to label: {learning}", blocks)


def _learning_blocks(grid: ActiveGrid) -> Iterator[Block]:
    """F1 and seconds of the ways of learning, on sentences that were chosen at random."""
    yield Paragraph(
        "Remembering puts the sentences into the datastore, and the model adapts to them; "
        "fine-tuning trains it on them, without adaptation; both fine-tunes, remembers and adapts. "
        f"All learn from the same sentences, chosen by {grid.ways[0]}."
    )
    way = grid.ways[0]
    for target in grid.targets:
        lines = [
            _line(grid, target, way, learning, learning, color)
            for color, learning in enumerate(grid.learnings)
        ]
        yield from _chart(f"F1 on {target} by labeled sentences", lines)
        rows = [
            Row(learning, tuple(_f1_entries(grid, target, way, learning)))
            for learning in grid.learnings
        ]
        yield Table(f"F1 on {target}, mean over seeds", _headings(grid), tuple(rows))
    rows = [
        Row(learning, tuple(_seconds_entry(grid, way, learning, size) for size in grid.sizes))
        for learning in grid.learnings
    ]
    headings = ("seconds to learn", *(f"{size:,}" for size in grid.sizes))
    yield Table("Seconds to learn, median over seeds and targets", headings, tuple(rows))


def _choosing_blocks(grid: ActiveGrid, learning: str) -> Iterator[Block]:
    for target in grid.targets:
        lines = [
            _line(grid, target, way, learning, way, color) for color, way in enumerate(grid.ways)
        ]
        yield from _chart(f"F1 on {target} by labeled sentences, {learning}", lines)
        rows = [Row(way, tuple(_f1_entries(grid, target, way, learning))) for way in grid.ways]
        yield Table(f"F1 on {target}, mean over seeds", _headings(grid), tuple(rows))
        yield _differences(grid, [target], learning, f"Difference from {BASELINE}, {target}")
    if len(grid.targets) > 1:
        yield _differences(grid, grid.targets, learning, f"Difference from {BASELINE}, all targets")
    yield TEST_DESCRIPTION


def _differences(grid: ActiveGrid, targets: Sequence[str], learning: str, caption: str) -> Table:
    """Each way against the baseline, by size and over all sizes."""
    rows = []
    for way in grid.ways:
        if way == BASELINE:
            continue
        comparisons = [
            grid.comparison(targets, way, learning, sizes)
            for sizes in (*([size] for size in grid.sizes), grid.sizes)
        ]
        entries = [
            difference_entry(None if c is None else 100 * c.difference, c) for c in comparisons
        ]
        rows.append(Row(way, tuple(entries)))
    headings = ("labeled sentences", *(f"{size:,}" for size in grid.sizes), "all sizes")
    return Table(caption, headings, tuple(rows))


def _headings(grid: ActiveGrid) -> tuple[str, ...]:
    return ("labeled sentences", "0", *(f"{size:,}" for size in grid.sizes))


def _f1_entries(grid: ActiveGrid, target: str, way: str, learning: str) -> Iterator[Entry]:
    for size in (0, *grid.sizes):
        mean = grid.mean(target, way, learning, size)
        yield mean_entry(mean, expected_seeds=len(grid.seeds))


def _seconds_entry(grid: ActiveGrid, way: str, learning: str, size: int) -> Entry:
    seconds = [
        result.seconds
        for target in grid.targets
        for result in grid.at(target, way, learning, size).values()
    ]
    return Entry(f"{statistics.median(seconds):.1f}" if seconds else MISSING)


def _line(
    grid: ActiveGrid, target: str, way: str, learning: str, name: str, color: int
) -> Line | None:
    means = [(size, grid.mean(target, way, learning, size)) for size in (0, *grid.sizes)]
    points = tuple((size, mean.mean) for size, mean in means if mean is not None)
    return Line(name, color, points) if points else None


def _chart(title: str, lines: Sequence[Line | None]) -> Iterator[Block]:
    drawn = tuple(line for line in lines if line is not None)
    if drawn:
        ends = "; ".join(f"{line.name} ends at {line.points[-1][1]:.1f}" for line in drawn)
        yield Chart(
            title=title,
            caption=title,
            description=f"{ends}.",
            value_name="F1",
            lines=drawn,
            step_name="labeled sentences",
        )
