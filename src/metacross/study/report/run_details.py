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
from metacross.study.results import Result
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
    yield _versions_table(grid.results)
    yield _digests_table(grid.results)
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
        yield from _recipes(system, [result for result in grid.results if result.system == system])


def _runs_table(grid: ResultsGrid) -> Table:
    runs: dict[tuple[str, tuple[str, ...], int, str], list[Result]] = {}
    for result in grid.results:
        run = (result.system, result.labels, result.seed, result.training.folder)
        runs.setdefault(run, []).append(result)
    order = grid.systems()
    rows = [
        Row(f"seed {seed}", _run_entries(runs[run]), group=f"{system} ({', '.join(labels)})")
        for run in sorted(runs, key=lambda run: (order.index(run[0]), run))
        for system, labels, seed, _ in [run]
    ]
    headings = ("training", "steps", "best step", "minutes", "results", "evaluation, seconds")
    return Table(
        "A row for each training, its time in minutes; evaluation is the sum over the results that "
        "it was used in.",
        (*headings, "machine"),
        tuple(rows),
    )


def _run_entries(results: Sequence[Result]) -> tuple[Entry, ...]:
    training = results[0].training
    steps = [step for step, _ in (*training.losses, *training.validations)]
    machines = dict.fromkeys(result.machine for result in results)
    return (
        Entry(f"{max(steps, default=training.best_step):,}"),
        Entry(f"{training.best_step:,}"),
        Entry(f"{training.seconds / 60:.1f}"),
        Entry(str(len(results))),
        Entry(f"{sum(result.seconds for result in results):,.0f}"),
        Entry("; ".join(machines)),
    )


def _versions_table(results: Sequence[Result]) -> Table:
    used: dict[str, list[str]] = {}
    for result in results:
        for name, version in result.versions.items():
            if version not in used.setdefault(name, []):
                used[name].append(version)
    rows = [Row(name, (Entry(", ".join(versions)),)) for name, versions in used.items()]
    return Table("Versions", ("of", "version"), tuple(rows))


def _digests_table(results: Sequence[Result]) -> Table:
    used: dict[tuple[str, str, str], None] = {}
    for result in results:
        for what, digest in result.digests.items():
            target = f" {result.target}" if what.startswith("target ") else ""
            labels = ", ".join(result.labels) if "corpus" in what else ""
            used[(f"{what}{target}", labels, digest)] = None
    rows = [
        Row(name, (Entry(labels), Entry(digest[:12], f"<code>{digest[:12]}</code>")))
        for name, labels, digest in sorted(used)
    ]
    return Table(
        "What was read, by the beginnings of digests", ("what", "labels", "digest"), tuple(rows)
    )


def _recipes(system: str, results: Sequence[Result]) -> Iterator[Block]:
    """Each different recipe of a system, whatever the seed."""
    by_recipe: dict[str, list[Result]] = {}
    for result in results:
        by_recipe.setdefault(_as_yaml(result.recipe), []).append(result)
    for recipe, own in by_recipe.items():
        labels = dict.fromkeys(", ".join(result.labels) for result in own)
        yield Folded(f"{system} ({'; '.join(labels)})", (Code(recipe),))


def _as_yaml(recipe: dict[str, Any]) -> str:
    """Without the seed, which is an argument of the command."""
    run = recipe.get("run")
    if isinstance(run, dict):
        recipe = {**recipe, "run": {key: run[key] for key in run if key != "seed"}}
    return yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True)
