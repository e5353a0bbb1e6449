"""The F1 scores of the paper (Tables 3, 4 and 6): multilingual BERT on its test sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PAPER = "paper (mBERT; its test sets)"
"""The name of these scores in tables."""

_TARGETS = ("es", "nl", "de", "fr", "zh")


@dataclass(frozen=True, slots=True)
class PaperRow:
    """F1 of a system in points: on each target, and the average of all five as printed."""

    f1s: dict[str, float]
    average: float

    def average_over(self, targets: Iterable[str]) -> float | None:
        """The mean over some targets; for all of the paper's targets the average it prints. None:
        there are no targets, or the paper does not have one of them.
        """
        distinct_targets = {*targets}
        if distinct_targets == {*self.f1s}:
            return self.average
        if not distinct_targets or not distinct_targets <= {*self.f1s}:
            return None
        return sum(self.f1s[target] for target in distinct_targets) / len(distinct_targets)


_ROWS = {
    (0.0, "base"): (74.59, 79.57, 70.79, 50.89, 76.42, 70.45),
    (0.0, "ours"): (76.75, 80.44, 73.16, 55.30, 77.89, 72.71),
    (0.0, "without-max-loss"): (76.05, 79.50, 71.84, 52.64, 76.77, 71.36),
    (0.0, "without-masking"): (75.57, 80.38, 72.76, 54.29, 77.79, 72.16),
    (0.0, "without-max-loss-and-masking"): (75.33, 80.13, 71.49, 52.79, 76.50, 71.25),
    (0.01, "base"): (76.83, 80.90, 73.22, 60.51, 79.72, 74.24),
    (0.01, "ours"): (78.59, 82.72, 75.12, 61.71, 80.34, 75.70),
    (0.02, "base"): (77.28, 81.54, 74.31, 64.43, 81.86, 75.88),
    (0.02, "ours"): (79.54, 83.07, 75.64, 65.79, 82.58, 77.32),
    (0.05, "base"): (78.74, 82.00, 75.48, 67.73, 85.11, 77.81),
    (0.05, "ours"): (80.32, 83.72, 77.70, 69.19, 85.67, 79.32),
}


def paper_row(fraction: float, system: str) -> PaperRow | None:
    """The scores of a system, zero-shot (0.0) or with a fraction; None: the paper has no such row.

    >>> paper_row(0.02, "ours").f1s["zh"]
    82.58
    """
    values = _ROWS.get((fraction, system))
    if values is None:
        return None
    return PaperRow(dict(zip(_TARGETS, values[:-1], strict=True)), values[-1])
