"""Tells what the results of a study were made of, and how to make them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from metacross.study.report.blocks import (
    Block,
    Code,
    Entry,
    Folded,
    Heading,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.results import Cell
from metacross.study.statistics import ResultsGrid

_WHOLE = "metacross experiment study.yaml --output FOLDER\n"
_ALONE = """\
metacross train RECIPE.yaml --source SOURCE --dev DEV --encoder ENCODER --seed SEED --output MODEL
metacross evaluate MODEL TARGET
"""


def runs_section(grid: ResultsGrid, study: str | None) -> Section:
    """Runs, versions, digests and recipes; ``study`` is the study as YAML, where it was kept."""
    return Section("runs", "Runs", tuple(_blocks(grid, study)))


def _blocks(grid: ResultsGrid, study: str | None) -> Iterator[Block]:
    yield _runs_table(grid)
    yield _versions_table(grid.cells)
    yield _digests_table(grid.cells)
    yield Heading("Make it again")
    if study is not None:
        yield Paragraph(
            "The whole study, or what is missing of it; study.yaml lies beside this report, and "
            "its files are looked for from where the command is run:"
        )
        yield Code(_WHOLE)
        yield Folded("study.yaml", (Code(study),))
    yield Paragraph(
        "One system alone, with a recipe from below saved as YAML: corpora and encoder with the "
        "digests above give the same results on the same kind of machine. Types that a run does "
        "not list were made O in its source, with data.drop."
    )
    yield Code(_ALONE)
    yield Heading("Recipes")
    for system in grid.systems():
        yield from _recipes(system, [cell for cell in grid.cells if cell.system == system])


def _runs_table(grid: ResultsGrid) -> Table:
    runs: dict[tuple[str, tuple[str, ...], int, str], list[Cell]] = {}
    for cell in grid.cells:
        run = (cell.system, cell.types, cell.seed, cell.training.folder)
        runs.setdefault(run, []).append(cell)
    order = grid.systems()
    rows = [
        Row(f"seed {seed}", _run_entries(runs[run]), group=f"{system} ({', '.join(types)})")
        for run in sorted(runs, key=lambda run: (order.index(run[0]), run))
        for system, types, seed, _ in [run]
    ]
    headings = ("training", "steps", "best step", "minutes", "cells", "evaluation, seconds")
    return Table(
        "A row for each training, its time in minutes; evaluation is the sum over the cells that "
        "it was used in.",
        (*headings, "machine"),
        tuple(rows),
    )


def _run_entries(cells: Sequence[Cell]) -> tuple[Entry, ...]:
    training = cells[0].training
    steps = [step for step, _ in (*training.losses, *training.validations)]
    machines = dict.fromkeys(cell.machine for cell in cells)
    return (
        Entry(f"{max(steps, default=training.best_step):,}"),
        Entry(f"{training.best_step:,}"),
        Entry(f"{training.seconds / 60:.1f}"),
        Entry(str(len(cells))),
        Entry(f"{sum(cell.seconds for cell in cells):,.0f}"),
        Entry("; ".join(machines)),
    )


def _versions_table(cells: Sequence[Cell]) -> Table:
    used: dict[str, list[str]] = {}
    for cell in cells:
        for name, version in cell.versions.items():
            if version not in used.setdefault(name, []):
                used[name].append(version)
    rows = [Row(name, (Entry(", ".join(versions)),)) for name, versions in used.items()]
    return Table("Versions", ("of", "version"), tuple(rows))


def _digests_table(cells: Sequence[Cell]) -> Table:
    used: dict[tuple[str, str, str], None] = {}
    for cell in cells:
        for what, digest in cell.digests.items():
            target = f" {cell.target}" if what.startswith("target ") else ""
            types = ", ".join(cell.types) if "corpus" in what else ""
            used[(f"{what}{target}", types, digest)] = None
    rows = [
        Row(name, (Entry(types), Entry(digest[:12], f"<code>{digest[:12]}</code>")))
        for name, types, digest in sorted(used)
    ]
    return Table(
        "What was read, by the beginnings of digests", ("what", "types", "digest"), tuple(rows)
    )


def _recipes(system: str, cells: Sequence[Cell]) -> Iterator[Block]:
    """Each different recipe of a system, whatever the seed."""
    by_recipe: dict[str, list[Cell]] = {}
    for cell in cells:
        by_recipe.setdefault(_as_yaml(cell.recipe), []).append(cell)
    for recipe, own in by_recipe.items():
        types = dict.fromkeys(", ".join(cell.types) for cell in own)
        yield Folded(f"{system} ({'; '.join(types)})", (Code(recipe),))


def _as_yaml(recipe: dict[str, Any]) -> str:
    """Without the seed, which is an argument of the command."""
    run = recipe.get("run")
    if isinstance(run, dict):
        recipe = {**recipe, "run": {key: run[key] for key in run if key != "seed"}}
    return yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True)
