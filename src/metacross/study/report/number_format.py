"""Writes figures as they stand in the tables of a report."""

from __future__ import annotations

from html import escape

from metacross.metrics.significance import Comparison
from metacross.study.report.blocks import MISSING, Entry
from metacross.study.report.html_pages import difference
from metacross.study.statistics import Spread

TEST_CAPTION = "p by approximate randomization; it speaks of these sentences and seeds only."
TEST_WORDS = (
    "p is the fraction of random exchanges of two systems' modes, sentence by sentence, that make "
    "a difference at least as large (approximate randomization, two-sided, 10,000 shuffles); the "
    "counts of a sentence are summed over the seeds that both have. n.s. stands for not "
    "significant, p of 0.05 or more. The test speaks of these sentences and these trained models "
    "only: another seed, or other text, is not in it. Nothing is corrected for the number of "
    "comparisons."
)
_NOT_SIGNIFICANT = '<abbr title="not significant: p is 0.05 or more">n.s.</abbr>'


def points_entry(points: float | None) -> Entry:
    """A figure in points; None: an en dash."""
    return Entry(MISSING if points is None else f"{points:.1f}")


def spread_entry(spread: Spread | None, *, expected_seeds: int) -> Entry:
    """A mean and how far the seeds are apart; fewer seeds than expected are told.

    >>> spread_entry(Spread(74.61, 0.32, 3), expected_seeds=5).text
    '74.6 ± 0.3 (3 of 5 seeds)'
    """
    if spread is None:
        return Entry(MISSING)
    text = f"{spread.mean:.1f}"
    markup = f"{text}"
    if spread.deviation is not None:
        text += f" ± {spread.deviation:.1f}"
        markup += f' <span class="quiet">± {spread.deviation:.1f}</span>'
    if spread.n_seeds < expected_seeds:
        told = f"{spread.n_seeds} of {expected_seeds} seeds"
        text += f" ({told})"
        markup += f"<br><small>{told}</small>"
    return Entry(text, markup)


def difference_entry(points: float | None, comparison: Comparison | None) -> Entry:
    """A signed difference with its p-value; colored only where it is significant."""
    if points is None:
        return Entry(MISSING)
    text = signed(points)
    if comparison is None:
        return Entry(text, f"<span>{text}</span>")
    p_value = p_text(comparison.p_value)
    if comparison.significant:
        return Entry(
            f"{text} ({p_value})", f"{difference(points)}<br><small>{escape(p_value)}</small>"
        )
    return Entry(
        f"{text} (n.s., {p_value})",
        f'<span class="quiet">{text}<br><small>{_NOT_SIGNIFICANT} {escape(p_value)}</small></span>',
    )


def p_entry(comparison: Comparison | None) -> Entry:
    """A p-value alone, told where it is not significant; None: an en dash."""
    if comparison is None:
        return Entry(MISSING)
    p_value = p_text(comparison.p_value)
    if comparison.significant:
        return Entry(p_value)
    markup = f'<span class="quiet">{_NOT_SIGNIFICANT} {escape(p_value)}</span>'
    return Entry(f"n.s., {p_value}", markup)


def plain_difference_entry(points: float, comparison: Comparison | None) -> Entry:
    """A signed difference alone; colored only where it is significant."""
    text = signed(points)
    if comparison is None:
        return Entry(text)
    shown = difference(points) if comparison.significant else f'<span class="quiet">{text}</span>'
    return Entry(text, shown)


def signed(points: float) -> str:
    """A difference in points; nothing is +0.0, never -0.0."""
    return f"{round(points, 1) + 0.0:+.1f}"


def p_text(p_value: float) -> str:
    """A p-value.

    >>> p_text(0.0001), p_text(0.04962)
    ('p < 0.001', 'p = 0.0496')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.4f}"
