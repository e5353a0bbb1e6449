"""Shows a score as text, JSON or a table."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from metacross.metrics.scoring import ScoreReport, Score
from metacross.metrics.significance import Comparison, Interval


def conlleval_text(report: ScoreReport) -> str:
    """The report in the words of the conlleval script."""
    overall = report.overall
    lines = [
        f"processed {report.n_words} tokens with {overall.gold} phrases; "
        f"found: {overall.predicted} phrases; correct: {overall.correct}.",
        f"accuracy: {100 * report.accuracy:6.2f}%; {_ratios(overall)}",
    ]
    lines += [
        f"{label:>17}: {_ratios(score)}  {score.predicted}"
        for label, score in report.by_label.items()
    ]
    return "\n".join(lines)


def _ratios(score: Score) -> str:
    return (
        f"precision: {100 * score.precision:6.2f}%; recall: {100 * score.recall:6.2f}%; "
        f"FB1: {100 * score.f1:6.2f}"
    )


def report_json(report: ScoreReport) -> dict[str, Any]:
    """The report with ratios between 0 and 1."""
    return {
        "overall": _score_json(report.overall),
        "macro_f1": report.macro_f1,
        "accuracy": report.accuracy,
        "words": report.n_words,
        "by_label": {label: _score_json(score) for label, score in report.by_label.items()},
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "correct": score.correct,
        "predicted": score.predicted,
        "gold": score.gold,
    }


def interval_json(interval: Interval) -> dict[str, float]:
    """An interval with its confidence."""
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison of two systems."""
    return {
        "difference": comparison.difference,
        "p_value": comparison.p_value,
        "significant": comparison.significant,
        "interval": interval_json(comparison.interval),
        "shuffles": comparison.shuffles,
    }


def report_table(report: ScoreReport, title: str) -> Table:
    """The report as a table: a row a type, then all of them."""
    table = Table(title=title, title_justify="left")
    table.add_column("type")
    for heading in ("precision", "recall", "F1", "gold", "predicted", "correct"):
        table.add_column(heading, justify="right")
    for label, score in report.by_label.items():
        table.add_row(label, *_cells(score))
    table.add_section()
    table.add_row("all (micro)", *_cells(report.overall), style="bold")
    table.add_row("macro", "", "", f"{100 * report.macro_f1:.2f}", "", "", "")
    return table


def _cells(score: Score) -> tuple[str, ...]:
    ratios = (f"{100 * ratio:.2f}" for ratio in (score.precision, score.recall, score.f1))
    return (*ratios, f"{score.gold:,}", f"{score.predicted:,}", f"{score.correct:,}")


def interval_line(interval: Interval) -> str:
    """An interval of an F1, in points."""
    bounds = f"{100 * interval.low:.2f} to {100 * interval.high:.2f}"
    return f"F1 lies in {bounds} with {interval.confidence:.0%} confidence (bootstrap)"


def comparison_line(comparison: Comparison, ours: str, theirs: str) -> str:
    """A comparison of two systems, said in a sentence."""
    low, high = _signed(comparison.interval.low), _signed(comparison.interval.high)
    verdict = "significant" if comparison.significant else "not significant"
    return (
        f"{ours} - {theirs}: {_signed(comparison.difference)} F1 ({low} to {high}), "
        f"p = {comparison.p_value:.4f}: {verdict} "
        f"at 5 % (approximate randomization, {comparison.shuffles:,} shuffles)"
    )


def _signed(difference: float) -> str:
    """A difference in points; nothing is +0.00, never -0.00."""
    return f"{round(100 * difference, 2) + 0.0:+.2f}"
