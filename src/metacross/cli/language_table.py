"""Shows how a model sees texts, for ``metacross check --model``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from metacross.cli import output

if TYPE_CHECKING:
    from metacross.adaptation.language_report import LanguageReport
    from metacross.serving.language_reports import LanguageReports

NO_PROMISE = (
    "These figures need no gold labels and promise no F1: they say how the model sees a text, not "
    "whether its entities are right. Label a few sentences and score them with metacross evaluate."
)
_COLUMNS = {
    "pieces_per_word": "pieces\nper word",
    "unknown_pieces": "unknown\npieces",
    "similarity": "simi-\nlarity",
    "changed_words": "changed\nwords",
    "confidence": "confi-\ndence",
}


def show_language_reports(reports: LanguageReports, model: str) -> None:
    """Print a table of the texts and the languages with a known F1, and what it does not say."""
    title = escape(f"How {model} sees the texts")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("text", overflow="fold")
    for heading in ("sen-\ntences", "script", *_COLUMNS.values(), "F1"):
        table.add_column(heading, justify="left" if heading == "script" else "right")
    for report in reports.texts:
        table.add_row(*_row(report))
    if reports.known or reports.unmeasured:
        table.add_section()
    for report in reports.known:
        table.add_row(*_row(report))
    for result in reports.unmeasured:
        blanks = [""] * (len(_COLUMNS) + 2)
        table.add_row(escape(result.target), *blanks, f"{100 * result.f1:.1f}")
    output.show(table)
    if reports.correlations:
        correlations = reports.correlations.items()
        listed = ", ".join(
            f"{measure.replace('_', ' ')} {value:+.2f}" for measure, value in correlations
        )
        output.show_plain(f"Rank correlation with F1 over {reports.n_known} texts: {listed}.")
    output.show_plain(NO_PROMISE)


def language_reports_json(reports: LanguageReports, model: str) -> dict[str, Any]:
    """The reports as JSON; ratios are between 0 and 1."""
    return {
        "model": model,
        "texts": [_report_json(report) for report in reports.texts],
        "known": [_report_json(report) for report in reports.known],
        "known_f1_only": {result.target: result.f1 for result in reports.unmeasured},
        "rank_correlation_with_f1": reports.correlations,
        "note": NO_PROMISE,
    }


def _report_json(report: LanguageReport) -> dict[str, Any]:
    values = asdict(report)
    values["text"] = values.pop("name")
    values["sentences_of_text"] = values.pop("n_sentences")
    return values


def _row(report: LanguageReport) -> tuple[str, ...]:
    of_all = "" if report.sentences == report.n_sentences else f" of {report.n_sentences:,}"
    script = "no letters"
    if report.script is not None:
        share = "" if report.script.share > 0.995 else f" {100 * report.script.share:.0f} %"
        script = f"{report.script.name}{share}"
    return (
        escape(Path(report.name).name),
        f"{report.sentences:,}{of_all}",
        script,
        f"{report.pieces_per_word:.2f}",
        f"{100 * report.unknown_pieces:.1f} %",
        "" if report.similarity is None else f"{report.similarity:.3f}",
        "" if report.changed_words is None else f"{100 * report.changed_words:.1f} %",
        f"{report.confidence:.3f}",
        "" if report.f1 is None else f"{100 * report.f1:.1f}",
    )
