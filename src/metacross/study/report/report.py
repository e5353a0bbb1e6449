"""Writes the report of a study, as a web page and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from metacross.errors import DataError
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions
from metacross.study.report.adaptation_tables import adaptation_section
from metacross.study.report.blocks import Section, section_html, section_markdown
from metacross.study.report.case_study import case_section
from metacross.study.report.heat_maps import heat_section
from metacross.study.report.html_pages import page
from metacross.study.report.learning_curves import curves_section
from metacross.study.report.neighbor_table import neighbors_section
from metacross.study.report.run_details import runs_section
from metacross.study.report.score_tables import scores_section
from metacross.study.report.selection_table import selection_section
from metacross.study.report.style import STYLE
from metacross.study.report.type_tables import types_section
from metacross.study.results import StudyFolder
from metacross.study.statistics import ResultsGrid
from metacross.text.writing import write_atomically


def write_report(folder: StudyFolder, title: str) -> Path:
    """Write ``report.html`` and ``report.md`` into a study's folder from what is there so far, and
    tell where the page is.
    """
    results = folder.results()
    if not results:
        raise DataError(f"{folder.results_file}: expected results of a study, found none")
    grid, stored = ResultsGrid.of(results), StoredPredictions(folder)
    study = folder.study.read_text(encoding="utf-8") if folder.study.exists() else None
    facts, sections = _facts(grid, stored), _sections(grid, stored, study)
    path = folder.folder / "report.html"
    write_atomically(path, [_html(title, facts, sections)])
    write_atomically(folder.folder / "report.md", [_markdown(title, facts, sections)])
    return path


def _sections(grid: ResultsGrid, stored: StoredPredictions, study: str | None) -> list[Section]:
    sections = [
        scores_section(grid, stored),
        adaptation_section(grid, stored),
        types_section(grid),
        heat_section(grid),
        curves_section(grid),
    ]
    if stored.keeps_any(grid.results):
        sections.append(neighbors_section(grid, stored))
    sections.append(selection_section(grid))
    if stored.keeps_any(grid.results):
        sections.append(case_section(grid, stored))
    return [*sections, runs_section(grid, study)]


def _facts(grid: ResultsGrid, stored: StoredPredictions) -> list[str]:
    """What a reader has to know first, a line each."""
    seeds = ", ".join(map(str, grid.seeds))
    lines = [
        f"Systems: {', '.join(grid.systems())}. Targets: {', '.join(grid.targets)}. "
        f"Settings: {', '.join(map(fraction_name, grid.fractions))}. Seeds: {seeds}.",
        "F1 is phrase-level, as conlleval counts it.",
    ]
    lines += [f"One training serves {', '.join(own)}." for own in _alike(grid)]
    missing = _n_missing(grid)
    if missing:
        lines.append(
            f"Not measured: {missing:,} of {missing + len(grid.results):,} results (a system with a "
            "seed on a target in a fraction)."
        )
    if grid.replaced:
        lines.append(f"{grid.replaced:,} results were replaced by later ones of the same result.")
    kept = sum(stored.counted(result) is not None for result in grid.results)
    if not kept:
        lines.append(
            "No predictions were kept: significance, neighbors and the case study are left out."
        )
    elif kept < len(grid.results):
        lines.append(
            f"Predictions were kept for {kept:,} of {len(grid.results):,} results: where they are "
            "missing, there is no significance."
        )
    return lines


def _alike(grid: ResultsGrid) -> list[list[str]]:
    """Systems that share a training run."""
    by_trainings: dict[frozenset[str], list[str]] = {}
    for system in grid.systems():
        trainings = {result.training.folder for result in grid.results if result.system == system}
        by_trainings.setdefault(frozenset(trainings), []).append(system)
    return [own for own in by_trainings.values() if len(own) > 1]


def _n_missing(grid: ResultsGrid) -> int:
    """Cells that every system, target and seed of a fraction together would still have."""
    missing = 0
    for fraction in grid.fractions:
        there = [result for result in grid.results if result.fraction == fraction]
        n_seeds = len({result.seed for result in there})
        whole = len(grid.systems(fraction)) * len(grid.targets_in(fraction)) * n_seeds
        missing += whole - len(there)
    return missing


def _html(title: str, facts: Sequence[str], sections: Sequence[Section]) -> str:
    links = "".join(
        f'<li><a href="#{section.anchor}">{escape(section.heading)}</a></li>'
        for section in sections
    )
    body = [
        *(f'<p class="quiet">{escape(fact)}</p>' for fact in facts),
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>',
        *map(section_html, sections),
    ]
    return page(title, body, style=STYLE + "".join(section.style for section in sections))


def _markdown(title: str, facts: Sequence[str], sections: Sequence[Section]) -> str:
    return "\n\n".join([f"# {title}", *facts, *map(section_markdown, sections)]) + "\n"
