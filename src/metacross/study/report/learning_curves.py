"""Charts and tables of loss and dev F1 during training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metacross.study.report.blocks import (
    MISSING,
    Block,
    Chart,
    Collapsible,
    Entry,
    Heading,
    Line,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.results import Result
from metacross.study.statistics import ResultsGrid
from metacross.study.training_statistics import Curve, mean_curve


def curves_section(grid: ResultsGrid) -> Section:
    """Loss and dev F1 by step, for each set of labels that systems were trained on."""
    results = grid.results_in(grid.fractions[0])
    blocks: list[Block] = [
        Paragraph(
            "Mean over seeds, at the steps that all seeds of a system have. Losses of systems with "
            "and without the max loss are different quantities: do not compare their values."
        )
    ]
    for labels in dict.fromkeys(result.labels for result in results):
        trained = [result for result in results if result.labels == labels]
        blocks.append(Heading(f"Trained on {', '.join(labels)}"))
        blocks += _charts(grid.systems, trained, ", ".join(labels))
    return Section("curves", "Learning curves", tuple(blocks))


def _charts(systems: Sequence[str], results: Sequence[Result], labels: str) -> Iterator[Block]:
    losses, f1s = {}, {}
    for system in systems:
        runs = {r.training.folder: r.training for r in results if r.system == system}.values()
        losses[system] = mean_curve([run.losses for run in runs])
        dev_f1s = mean_curve([run.validations for run in runs])
        f1s[system] = tuple((step, 100 * f1) for step, f1 in dev_f1s)
    yield from _chart("Loss", losses, labels, digits=3)
    yield from _chart("F1 on the source language's dev corpus", f1s, labels, digits=1)


def _chart(
    quantity: str, curves: Mapping[str, Curve], labels: str, *, digits: int
) -> Iterator[Block]:
    lines = tuple(
        Line(system, color, curve)  # systems without a curve count too: same colors in all charts
        for color, (system, curve) in enumerate(curves.items())
        if curve
    )
    if not lines:
        yield Paragraph(f"{quantity}: nothing was recorded.")
        return
    title = f"{quantity} by step, trained on {labels}"
    ends = "; ".join(f"{line.name} ends at {line.points[-1][1]:.{digits}f}" for line in lines)
    yield Chart(
        title=title,
        caption=quantity,
        description=f"A line for each system: {ends}.",
        value_name=quantity.split(" ")[0],
        lines=lines,
    )
    yield Collapsible(f"{quantity} as a table ({labels})", (_table(title, lines, digits),))


def _table(title: str, lines: Sequence[Line], digits: int) -> Table:
    curves = [dict(line.points) for line in lines]
    steps = sorted({step for curve in curves for step in curve})
    rows = [
        Row(
            f"{step:,}",
            tuple(
                Entry(f"{curve[step]:.{digits}f}" if step in curve else MISSING) for curve in curves
            ),
        )
        for step in steps
    ]
    return Table(title, ("step", *(line.name for line in lines)), tuple(rows))
