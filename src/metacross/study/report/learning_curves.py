"""Shows how the trainings of a study went."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from metacross.study.report.blocks import (
    MISSING,
    Block,
    Entry,
    Folded,
    Heading,
    Markup,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.html_pages import scrolling
from metacross.study.report.line_chart import Points, line_chart
from metacross.study.results import Result
from metacross.study.statistics import ResultsGrid

Steps = tuple[tuple[int, float], ...]


def curves_section(grid: ResultsGrid) -> Section:
    """Loss and dev F1 by step, for each set of entity types that was trained on."""
    fraction = grid.fractions[0]
    results = [result for result in grid.results if result.fraction == fraction]
    blocks: list[Block] = [
        Paragraph(
            "Means over seeds, at the steps that all of a system's seeds have. The losses of "
            "systems that train with and without the max loss are not of the same kind and cannot "
            "be compared in height."
        )
    ]
    for labels in dict.fromkeys(result.labels for result in results):
        trained = [result for result in results if result.labels == labels]
        blocks.append(Heading(f"Trained on {', '.join(labels)}"))
        blocks += _charts(grid.systems(), trained, ", ".join(labels))
    return Section("curves", "Learning curves", tuple(blocks))


def _charts(systems: Sequence[str], results: Sequence[Result], labels: str) -> Iterator[Block]:
    losses, f1s = {}, {}
    for system in systems:
        own = [result for result in results if result.system == system]
        trainings = {result.training.folder: result.training for result in own}.values()
        losses[system] = mean_curve([training.losses for training in trainings])
        dev = mean_curve([training.validations for training in trainings])
        f1s[system] = [(step, 100 * f1) for step, f1 in dev]
    yield from _chart("Loss", losses, labels, digits=3)
    yield from _chart("F1 on the source language's dev corpus", f1s, labels, digits=1)


def mean_curve(curves: Sequence[Steps]) -> list[tuple[int, float]]:
    """The mean of curves at the steps that all of them have; nothing where there is none."""
    values = [dict(curve) for curve in curves]
    shared = sorted(set.intersection(*(set(own) for own in values))) if values else []
    return [(step, statistics.fmean(own[step] for own in values)) for step in shared]


def _chart(
    what: str, lines: Mapping[str, Sequence[tuple[int, float]]], labels: str, *, digits: int
) -> Iterator[Block]:
    there: dict[str, Points] = {name: points for name, points in lines.items() if points}
    if not there:
        yield Paragraph(f"{what}: nothing was recorded.")
        return
    ends = "; ".join(f"{name} ends at {points[-1][1]:.{digits}f}" for name, points in there.items())
    title = f"{what} by step, trained on {labels}"
    colors = {name: number for number, name in enumerate(lines)}  # the same in all charts
    told = f"A line for each system: {ends}."
    picture = line_chart(title, told, there, what.split(" ")[0], colors)
    yield Markup(
        f'<figure><figcaption class="quiet">{what}</figcaption>{scrolling(title, picture)}</figure>'
    )
    yield Folded(f"{what} in figures ({labels})", (_table(title, there, digits),))


def _table(title: str, lines: Mapping[str, Points], digits: int) -> Table:
    values = {name: dict(points) for name, points in lines.items()}
    steps = sorted({step for own in values.values() for step in own})
    rows = [
        Row(
            f"{step:,}",
            tuple(
                Entry(f"{own[step]:.{digits}f}" if step in own else MISSING)
                for own in values.values()
            ),
        )
        for step in steps
    ]
    return Table(title, ("step", *lines), tuple(rows))
