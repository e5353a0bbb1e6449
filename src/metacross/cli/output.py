"""Prints results to the terminal: text, JSON, errors, colored entities and score tables."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from metacross.errors import MetacrossError
from metacross.metrics.scoring import Score, ScoreReport
from metacross.metrics.significance import Comparison, Interval
from metacross.text.language_codes import primary_language
from metacross.text.sentence import Sentence, Span

_ENTITY_STYLES = {
    "PER": "bold black on bright_green",
    "LOC": "bold black on bright_cyan",
    "ORG": "bold black on bright_yellow",
    "MISC": "bold black on bright_magenta",
}
_DEFAULT_ENTITY_STYLE = "bold black on white"
_LANGUAGES_WITHOUT_SPACES = ("zh", "ja", "th")


def show(renderable: RenderableType) -> None:
    """Print a table, or text with rich's markup."""
    Console(highlight=False).print(renderable)


def show_plain(text: str) -> None:
    """Print text as it is, without markup and line wrapping."""
    Console(highlight=False).print(text, markup=False, soft_wrap=True)


def show_json(value: Any) -> None:  # noqa: ANN401 - anything that JSON can represent
    """Print a value as JSON."""
    show_plain(json.dumps(value, ensure_ascii=False, indent=2))


def show_note(text: str) -> None:
    """Print a note to stderr."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True, style="dim")


def abandon() -> None:
    """Give up the standard output: what is left of it is thrown away when the program ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def warnings_as_notes(shown: type[Warning]) -> Iterator[None]:
    """Show warnings of a category as notes, without the line of code that they come from."""
    with warnings.catch_warnings():
        show_other = warnings.showwarning

        def show_warning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, shown):
                show_note(str(message))
            else:
                show_other(message, category, filename, lineno, file, line)

        warnings.showwarning = show_warning
        yield


def show_error(error: MetacrossError) -> None:
    """Print an error as one line to stderr."""
    line = "".join(c if c.isprintable() else " " for c in f"metacross: {error}")
    Console(stderr=True, highlight=False).print(line, markup=False, soft_wrap=True, style="red")


def marked_entities(sentence: Sentence, spans: Sequence[Span] | None = None) -> Text:
    """The words of a sentence, with entities in brackets and color.

    ``spans`` are the entities to mark; None means those of the sentence.

    >>> marked_entities(Sentence(("Ana", "habló"), (Span(0, 1, "PER"),))).plain
    '[Ana PER] habló'
    """
    is_spaced = primary_language(sentence.language) not in _LANGUAGES_WITHOUT_SPACES
    separator = " " if is_spaced else ""
    text, position = Text(), 0
    for span in sentence.spans or () if spans is None else spans:
        _append(text, separator.join(sentence.words[position : span.start]), separator)
        entity = f"[{separator.join(sentence.words_of(span))} {span.label}]"
        _append(text, entity, separator, _ENTITY_STYLES.get(span.label, _DEFAULT_ENTITY_STYLE))
        position = span.end
    _append(text, separator.join(sentence.words[position:]), separator)
    return text


def _append(text: Text, words: str, separator: str, style: str = "") -> None:
    if words:
        text.append(separator if text.plain else "")
        text.append(words, style)


def conlleval_text(report: ScoreReport) -> str:
    """The report in the format of the conlleval script."""
    overall = report.overall
    lines = [
        f"processed {report.n_words} tokens with {overall.gold} phrases; "
        f"found: {overall.predicted} phrases; correct: {overall.correct}.",
        f"accuracy: {100 * report.accuracy:6.2f}%; {_conlleval_ratios(overall)}",
    ]
    lines += [
        f"{label:>17}: {_conlleval_ratios(score)}  {score.predicted}"
        for label, score in report.by_label.items()
    ]
    return "\n".join(lines)


def _conlleval_ratios(score: Score) -> str:
    return (
        f"precision: {100 * score.precision:6.2f}%; recall: {100 * score.recall:6.2f}%; "
        f"FB1: {100 * score.f1:6.2f}"
    )


def report_json(report: ScoreReport) -> dict[str, Any]:
    """The report as JSON, with ratios between 0 and 1."""
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
    """A confidence interval as JSON."""
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison of two systems as JSON."""
    return {
        "difference": comparison.difference,
        "p_value": comparison.p_value,
        "significant": comparison.significant,
        "interval": interval_json(comparison.interval),
        "shuffles": comparison.shuffles,
    }


def report_table(report: ScoreReport, title: str) -> Table:
    """The report as a table: a row per label, then the averages."""
    table = Table(title=title, title_justify="left")
    table.add_column("type")
    for heading in ("precision", "recall", "F1", "gold", "predicted", "correct"):
        table.add_column(heading, justify="right")
    for label, score in report.by_label.items():
        table.add_row(label, *_score_row(score))
    table.add_section()
    table.add_row("all (micro)", *_score_row(report.overall), style="bold")
    table.add_row("macro", "", "", f"{100 * report.macro_f1:.2f}", "", "", "")
    return table


def _score_row(score: Score) -> tuple[str, ...]:
    ratios = (f"{100 * ratio:.2f}" for ratio in (score.precision, score.recall, score.f1))
    return (*ratios, f"{score.gold:,}", f"{score.predicted:,}", f"{score.correct:,}")


def interval_line(interval: Interval) -> str:
    """The confidence interval of an F1, in points.

    >>> interval_line(Interval(low=0.4, high=0.612, confidence=0.95))
    'F1 is between 40.00 and 61.20 with 95% confidence (bootstrap)'
    """
    low, high = f"{100 * interval.low:.2f}", f"{100 * interval.high:.2f}"
    return f"F1 is between {low} and {high} with {interval.confidence:.0%} confidence (bootstrap)"


def comparison_line(comparison: Comparison, ours: str, theirs: str) -> str:
    """A comparison of two systems as a line of text; ``ours`` and ``theirs`` are their names."""
    low, high = _signed(comparison.interval.low), _signed(comparison.interval.high)
    verdict = "significant" if comparison.significant else "not significant"
    return (
        f"{ours} - {theirs}: {_signed(comparison.difference)} F1 ({low} to {high}), "
        f"p = {comparison.p_value:.4f}: {verdict} "
        f"at 5 % (approximate randomization, {comparison.shuffles:,} shuffles)"
    )


def _signed(difference: float) -> str:
    """A difference in points with its sign; zero is +0.00, never -0.00."""
    return f"{round(100 * difference, 2) + 0.0:+.2f}"
