"""Writes the report of a study, as a web page and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from metacross.errors import DataError
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions
from metacross.study.report.adaptation_tables import adaptation_section
from metacross.study.report.baseline_tables import baselines_section, has_baselines
from metacross.study.report.blocks import Document, Section
from metacross.study.report.case_study import case_section
from metacross.study.report.html import html_page
from metacross.study.report.label_tables import labels_section
from metacross.study.report.learning_curves import curves_section
from metacross.study.report.markdown import markdown_text
from metacross.study.report.neighbor_table import neighbors_section
from metacross.study.report.run_details import runs_section
from metacross.study.report.score_tables import scores_section
from metacross.study.report.selection_table import selection_section
from metacross.study.results import StudyFolder
from metacross.study.statistics import ResultsGrid
from metacross.text.writing import write_atomically

REPORT = "report.html"


def write_report(folder: StudyFolder, title: str) -> Path:
    """Write ``report.html`` and ``report.md`` into a study's folder, from the results so far.

    Returns the path of ``report.html``.
    """
    results = folder.results()
    if not results:
        raise DataError(f"{folder.results_file}: expected results of a study, found none")
    grid, stored = ResultsGrid.of(results), StoredPredictions(folder)
    study = folder.study.read_text(encoding="utf-8") if folder.study.exists() else None
    document = Document(title, tuple(_facts(grid, stored)), tuple(_sections(grid, stored, study)))
    path = folder.folder / REPORT
    write_atomically(path, [html_page(document)])
    write_atomically(folder.folder / "report.md", [markdown_text(document)])
    return path


def _sections(grid: ResultsGrid, stored: StoredPredictions, study: str | None) -> Iterator[Section]:
    has_predictions = stored.has_any_sentences(grid.results)
    yield scores_section(grid, stored)
    if has_baselines(grid):
        yield baselines_section(grid, stored)
    yield adaptation_section(grid, stored)
    yield labels_section(grid)
    yield curves_section(grid)
    if has_predictions:
        yield neighbors_section(grid, stored)
    yield selection_section(grid)
    if has_predictions:
        yield case_section(grid, stored)
    yield runs_section(grid, study)


def _facts(grid: ResultsGrid, stored: StoredPredictions) -> Iterator[str]:
    yield (
        f"Systems: {', '.join(grid.systems)}. Targets: {', '.join(grid.targets)}. "
        f"Fractions: {', '.join(map(fraction_name, grid.fractions))}. "
        f"Seeds: {', '.join(map(str, grid.seeds))}."
    )
    yield "F1 is entity-level, as in conlleval."
    for systems in grid.systems_by_run:
        if len(systems) > 1:
            yield f"{_listed(systems)} share one training run."
    if grid.n_missing:
        n_expected = grid.n_missing + len(grid.results)
        yield (
            f"Missing: {grid.n_missing:,} of {n_expected:,} results (a result is one system with "
            "one seed on one target with one fraction)."
        )
    if grid.n_replaced:
        yield f"{grid.n_replaced:,} results were replaced by newer ones."
    n_stored = sum(stored.sentence_counts(result) is not None for result in grid.results)
    if not n_stored:
        yield (
            "No predictions are stored: the report has no significance tests, no neighbors and no "
            "case study."
        )
    elif n_stored < len(grid.results):
        yield (
            f"Predictions or their counts are stored for {n_stored:,} of {len(grid.results):,} "
            "results: there are no significance tests for the others."
        )
    if n_stored and not stored.has_any_sentences(grid.results):
        yield "Only the counts of predictions are stored: there are no neighbors and no case study."


def _listed(names: Sequence[str]) -> str:
    """Names as part of a sentence.

    >>> _listed(["base", "ours", "mine"])
    'base, ours and mine'
    """
    return f"{', '.join(names[:-1])} and {names[-1]}"
