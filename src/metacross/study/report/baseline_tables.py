"""Tables of systems with what they are made of, their resources and published scores."""

from __future__ import annotations

from collections.abc import Iterator

from metacross.baselines.baseline import Baseline
from metacross.baselines.catalog import BASELINES
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions, compare_systems
from metacross.study.report.blocks import MISSING, Entry, Heading, Paragraph, Row, Section, Table
from metacross.study.report.number_format import mean_entry, p_value_entry
from metacross.study.results import Result
from metacross.study.statistics import ResultsGrid, mean_f1
from metacross.study.system_runs import BASELINE_NAME, RESOURCE

_SOURCE_ONLY = {"meta": "ours", "direct": "direct"}
"""Systems of the registry that ordinary systems of a study are, by ``run.method``."""


def has_baselines(grid: ResultsGrid) -> bool:
    """Whether some system is a baseline."""
    return any(BASELINE_NAME in result.digests for result in grid.results)


def baselines_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """A table for each fraction and target."""
    blocks: list[Heading | Table | Paragraph] = [
        Paragraph(
            "Rows named published are scores that the authors of a system report on the test set, "
            "with their encoder, resources and data. They are quoted for orientation and are not "
            "reproduced here: the systems above them are made of other parts."
        )
    ]
    for fraction in grid.fractions:
        for target in grid.targets_in(fraction):
            blocks.append(_table(grid, stored, fraction, target))
    return Section("baselines", "Systems and their resources", tuple(blocks))


def _table(grid: ResultsGrid, stored: StoredPredictions, fraction: float, target: str) -> Table:
    return Table(
        f"F1 in points on {target}, {fraction_name(fraction)}, with what each system is made of "
        f"and was given, and p against {grid.baseline}. Seconds are of training on the machine "
        "below, with those of a model that several systems share; MB is the highest peak memory of "
        "the process that trained.",
        ("system", "made of", "resources", "F1", f"p against {grid.baseline}", "seconds", "MB"),
        tuple(_rows(grid, stored, fraction, target)),
        text_columns=frozenset({"made of", "resources"}),
    )


def _rows(
    grid: ResultsGrid, stored: StoredPredictions, fraction: float, target: str
) -> Iterator[Row]:
    reference = grid.at(fraction, grid.baseline, target)
    for system in grid.systems_in(fraction):
        results = grid.at(fraction, system, target)
        if not results:
            continue
        first = next(iter(results.values()))
        is_reference = system == grid.baseline
        comparison = None if is_reference else compare_systems(stored, results, reference)
        baseline = _baseline_of(first)
        megabytes = [r.training.megabytes for r in results.values() if r.training.megabytes]
        mean_seconds = sum(r.training.seconds for r in results.values()) / len(results)
        yield Row(
            system,
            (
                Entry(baseline.made_of if baseline else MISSING),
                Entry(", ".join(_resources(first)) or "none"),
                mean_entry(mean_f1(results), expected_seeds=grid.max_seeds(fraction)),
                p_value_entry(comparison),
                Entry(f"{mean_seconds:,.0f}"),
                Entry(f"{max(megabytes):,}" if megabytes else MISSING),
            ),
        )
        published = dict(baseline.published).get(target) if baseline else None
        if baseline is not None and published is not None and fraction == 0:
            entries = (baseline.cites, "", f"{published:.2f}", "", "", "")
            row = tuple(Entry(text) for text in entries)
            yield Row(f"{system}, published", row, tone="quoted")


def _baseline_of(result: Result) -> Baseline | None:
    """The registry's entry of a system; None where it has none, as for ablations."""
    if BASELINE_NAME in result.digests:
        return BASELINES.get(result.digests[BASELINE_NAME])
    if result.system not in ("base", "ours"):
        return None
    method = result.recipe.get("run", {}).get("method", "")
    return BASELINES.get(_SOURCE_ONLY.get(method, ""))


def _resources(result: Result) -> list[str]:
    names = [
        name.removeprefix(RESOURCE).replace("_", " ")
        for name in result.digests
        if name.startswith(RESOURCE)
    ]
    if result.fraction:
        names.append(f"{fraction_name(result.fraction)} of the labeled target text")
    return names
