"""The F1 that the paper (Tables 3, 4 and 6) reports, with multilingual BERT on the test sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PAPER = "paper (mBERT; its test sets)"
"""What to call these figures beside others."""

_TARGETS = ("es", "nl", "de", "fr", "zh")


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A system in a fraction: F1 in points on each target, and the printed average of all five."""

    f1s: dict[str, float]
    average: float

    def average_over(self, targets: Iterable[str]) -> float | None:
        """The printed average where these are all of the paper's targets, otherwise the mean of
        these; None where the paper does not have one of them, or there are none.
        """
        wanted = {*targets}
        if wanted == {*self.f1s}:
            return self.average
        if not wanted or not wanted <= {*self.f1s}:
            return None
        return sum(self.f1s[target] for target in wanted) / len(wanted)


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
    """What the paper reports; None where it has no such row.

    >>> paper_row(0.02, "ours").f1s["zh"]
    82.58
    """
    values = _ROWS.get((fraction, system))
    if values is None:
        return None
    return PaperRow(dict(zip(_TARGETS, values[:-1], strict=True)), values[-1])
