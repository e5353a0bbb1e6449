"""Formats numbers as table entries."""

from __future__ import annotations

from metacross.metrics.significance import Comparison
from metacross.study.report.blocks import MISSING, Entry, Tone
from metacross.study.statistics import MeanF1


def points_entry(points: float | None) -> Entry:
    """A value in points; None is shown as missing."""
    return Entry(MISSING if points is None else f"{points:.1f}")


def mean_entry(mean_f1: MeanF1 | None, *, expected_seeds: int, shade: float | None = None) -> Entry:
    """A mean with its deviation, and the number of seeds where some are missing.

    >>> mean_entry(MeanF1(74.61, 0.32, 3), expected_seeds=5).full_text
    '74.6 ± 0.3 (3 of 5 seeds)'
    """
    if mean_f1 is None:
        return Entry(MISSING)
    has_all_seeds = mean_f1.n_seeds >= expected_seeds
    return Entry(
        f"{mean_f1.mean:.1f}",
        detail="" if mean_f1.deviation is None else f"± {mean_f1.deviation:.1f}",
        note="" if has_all_seeds else f"{mean_f1.n_seeds} of {expected_seeds} seeds",
        shade=shade,
    )


def difference_entry(
    points: float | None, comparison: Comparison | None, *, shade: float | None = None
) -> Entry:
    """A signed difference with its p-value; it is colored and shaded unless it is not significant.

    ``comparison`` is None where there was no test.
    """
    if points is None:
        return Entry(MISSING)
    if comparison is None:
        return Entry(signed(points), shade=shade)
    return Entry(
        signed(points),
        note=_significance_text(comparison),
        tone=_tone(points, comparison),
        shade=shade if comparison.significant else None,
    )


def gain_entry(points: float, comparison: Comparison | None) -> Entry:
    """A signed difference without its p-value, colored only where it is significant."""
    return Entry(signed(points), tone=None if comparison is None else _tone(points, comparison))


def p_value_entry(comparison: Comparison | None) -> Entry:
    """A p-value on its own; None is shown as missing."""
    if comparison is None:
        return Entry(MISSING)
    tone: Tone | None = None if comparison.significant else "muted"
    return Entry(_significance_text(comparison), tone=tone)


def signed(points: float) -> str:
    """A difference in points with its sign.

    >>> signed(1.25), signed(-0.04)
    ('+1.2', '+0.0')
    """
    return f"{_rounded(points):+.1f}"


def difference_tone(points: float) -> Tone:
    """Good above zero and bad below; what is shown as zero is neither."""
    rounded = _rounded(points)
    return "good" if rounded > 0 else "bad" if rounded < 0 else "muted"


def p_value_text(p_value: float) -> str:
    """A p-value.

    >>> p_value_text(0.0001), p_value_text(0.04962)
    ('p < 0.001', 'p = 0.0496')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.4f}"


def _significance_text(comparison: Comparison) -> str:
    p_value = p_value_text(comparison.p_value)
    return p_value if comparison.significant else f"n.s., {p_value}"


def _tone(points: float, comparison: Comparison) -> Tone:
    return difference_tone(points) if comparison.significant else "muted"


def _rounded(points: float) -> float:
    return round(points, 1) + 0.0  # adding zero turns -0.0 into 0.0
