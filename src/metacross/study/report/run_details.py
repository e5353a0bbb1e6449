"""Lists the runs, versions and corpora behind the results, and how to reproduce them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from metacross.study.report.blocks import (
    Block,
    Code,
    Collapsible,
    Entry,
    Heading,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.results import Result
from metacross.study.statistics import ResultsGrid

_STUDY_COMMAND = "metacross experiment study.yaml --output FOLDER\n"
_SYSTEM_COMMANDS = """\
metacross train RECIPE.yaml --source SOURCE --dev DEV --encoder ENCODER --seed SEED --output MODEL
metacross evaluate MODEL TARGET
"""


def runs_section(grid: ResultsGrid, study: str | None) -> Section:
    """Runs, versions, digests and recipes; ``study`` is the study as YAML, None where it is not
    stored.
    """
    return Section("runs", "Runs", tuple(_blocks(grid, study)))


def _blocks(grid: ResultsGrid, study: str | None) -> Iterator[Block]:
    yield _runs_table(grid)
    yield _versions_table(grid.results)
    yield _digests_table(grid.results)
    yield Heading("How to reproduce")
    if study is not None:
        yield Paragraph(
            "The complete study, or the results that are missing. study.yaml is in the folder of "
            "this report; its file names are relative to where you run the command:"
        )
        yield Code(_STUDY_COMMAND)
        yield Collapsible("study.yaml", (Code(study),))
    yield Paragraph(
        "One system, with a recipe from below saved as a YAML file. Corpora and an encoder with "
        "the digests above give the same results on the same kind of machine. Entity types that a "
        "run does not list were dropped from its source corpus with data.drop."
    )
    yield Code(_SYSTEM_COMMANDS)
    yield Heading("Recipes")
    for system in grid.systems:
        yield from _recipes(system, [result for result in grid.results if result.system == system])


def _runs_table(grid: ResultsGrid) -> Table:
    runs: dict[tuple[str, tuple[str, ...], int, str], list[Result]] = {}
    for result in grid.results:
        run = (result.system, result.labels, result.seed, result.training.folder)
        runs.setdefault(run, []).append(result)
    systems = grid.systems
    rows = [
        Row(f"seed {seed}", _run_entries(runs[run]), group=f"{system} ({', '.join(labels)})")
        for run in sorted(runs, key=lambda run: (systems.index(run[0]), run))
        for system, labels, seed, _ in [run]
    ]
    return Table(
        "Training runs, with the training time in minutes. Evaluation is the total time of all "
        "results that used the run.",
        ("run", "steps", "best step", "minutes", "results", "evaluation, seconds", "machine"),
        tuple(rows),
        text_columns=frozenset({"machine"}),
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
    versions: dict[str, dict[str, None]] = {}
    for result in results:
        for package, version in result.versions.items():
            versions.setdefault(package, {})[version] = None
    rows = [Row(package, (Entry(", ".join(used)),)) for package, used in versions.items()]
    return Table(
        "Versions", ("package", "version"), tuple(rows), text_columns=frozenset({"version"})
    )


def _digests_table(results: Sequence[Result]) -> Table:
    digests: set[tuple[str, str, str]] = set()
    for result in results:
        for name, digest in result.digests.items():
            target = f" {result.target}" if name.startswith("target ") else ""
            labels = ", ".join(result.labels) if "corpus" in name else ""
            digests.add((f"{name}{target}", labels, digest))
    rows = [
        Row(name, (Entry(labels), Entry(digest[:12], code=True)))
        for name, labels, digest in sorted(digests)
    ]
    return Table(
        "Corpora and encoder, with the first 12 digits of their digests",
        ("input", "labels", "digest"),
        tuple(rows),
        text_columns=frozenset({"labels", "digest"}),
    )


def _recipes(system: str, results: Sequence[Result]) -> Iterator[Block]:
    """Each recipe of a system once; recipes that differ only in the seed are the same."""
    labels_by_recipe: dict[str, dict[str, None]] = {}
    for result in results:
        recipe = _yaml_without_seed(result.recipe)
        labels_by_recipe.setdefault(recipe, {})[", ".join(result.labels)] = None
    for recipe, labels in labels_by_recipe.items():
        yield Collapsible(f"{system} ({'; '.join(labels)})", (Code(recipe),))


def _yaml_without_seed(recipe: dict[str, Any]) -> str:
    """The seed is an argument of the command."""
    run = recipe.get("run")
    if isinstance(run, dict):
        recipe = {**recipe, "run": {key: run[key] for key in run if key != "seed"}}
    return yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True)
