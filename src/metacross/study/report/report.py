"""Writes the report of a study, as a web page and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from metacross.errors import DataError
from metacross.study.predictions import Evidence
from metacross.study.report.adaptation_tables import adaptation_section
from metacross.study.report.blocks import Section, section_html, section_markdown
from metacross.study.report.case_study import case_section
from metacross.study.report.heat_maps import heat_section
from metacross.study.report.html_pages import page
from metacross.study.report.learning_curves import curves_section
from metacross.study.report.neighbor_table import neighbours_section
from metacross.study.report.run_details import runs_section
from metacross.study.report.score_tables import scores_section
from metacross.study.report.selection_table import selection_section
from metacross.study.report.style import STYLE
from metacross.study.report.type_tables import types_section
from metacross.study.results import StudyFolder
from metacross.study.statistics import ResultsGrid
from metacross.text.writing import write_whole


def write_report(folder: StudyFolder, title: str) -> Path:
    """Write ``report.html`` and ``report.md`` into a study's folder from what is there so far, and
    tell where the page is.
    """
    cells = folder.cells()
    if not cells:
        raise DataError(f"{folder.results}: expected results of a study, found none")
    grid, evidence = ResultsGrid.of(cells), Evidence(folder)
    study = folder.study.read_text(encoding="utf-8") if folder.study.exists() else None
    facts, sections = _facts(grid, evidence), _sections(grid, evidence, study)
    path = folder.folder / "report.html"
    write_whole(path, [_html(title, facts, sections)])
    write_whole(folder.folder / "report.md", [_markdown(title, facts, sections)])
    return path


def _sections(grid: ResultsGrid, evidence: Evidence, study: str | None) -> list[Section]:
    sections = [
        scores_section(grid, evidence),
        adaptation_section(grid, evidence),
        types_section(grid),
        heat_section(grid),
        curves_section(grid),
    ]
    if evidence.keeps_any(grid.cells):
        sections.append(neighbours_section(grid, evidence))
    sections.append(selection_section(grid))
    if evidence.keeps_any(grid.cells):
        sections.append(case_section(grid, evidence))
    return [*sections, runs_section(grid, study)]


def _facts(grid: ResultsGrid, evidence: Evidence) -> list[str]:
    """What a reader has to know first, a line each."""
    seeds = ", ".join(map(str, grid.seeds))
    lines = [
        f"Systems: {', '.join(grid.systems())}. Targets: {', '.join(grid.targets)}. "
        f"Settings: {', '.join(grid.settings)}. Seeds: {seeds}.",
        "F1 is phrase-level, as conlleval counts it.",
    ]
    lines += [f"One training serves {', '.join(own)}." for own in _alike(grid)]
    missing = _n_missing(grid)
    if missing:
        lines.append(
            f"Not measured: {missing:,} of {missing + len(grid.cells):,} cells (a system with a "
            "seed on a target in a setting)."
        )
    if grid.replaced:
        lines.append(f"{grid.replaced:,} results were replaced by later ones of the same cell.")
    kept = sum(evidence.counted(cell) is not None for cell in grid.cells)
    if not kept:
        lines.append(
            "No predictions were kept: significance, neighbours and the case study are left out."
        )
    elif kept < len(grid.cells):
        lines.append(
            f"Predictions were kept for {kept:,} of {len(grid.cells):,} cells: where they are "
            "missing, there is no significance."
        )
    return lines


def _alike(grid: ResultsGrid) -> list[list[str]]:
    """Systems that share their trainings."""
    by_trainings: dict[frozenset[str], list[str]] = {}
    for system in grid.systems():
        trainings = {cell.training.folder for cell in grid.cells if cell.system == system}
        by_trainings.setdefault(frozenset(trainings), []).append(system)
    return [own for own in by_trainings.values() if len(own) > 1]


def _n_missing(grid: ResultsGrid) -> int:
    """Cells that every system, target and seed of a setting together would still have."""
    missing = 0
    for setting in grid.settings:
        there = [cell for cell in grid.cells if cell.setting == setting]
        n_seeds = len({cell.seed for cell in there})
        whole = len(grid.systems(setting)) * len(grid.targets_in(setting)) * n_seeds
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
