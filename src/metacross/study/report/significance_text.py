"""Explains the significance test to the readers of a report."""

from __future__ import annotations

from metacross.study.predictions import StoredPredictions
from metacross.study.report.blocks import Paragraph
from metacross.study.statistics import ResultsGrid

TEST_DESCRIPTION = Paragraph(
    "p-values are from approximate randomization (two-sided, 10,000 shuffles): p is the share of "
    "shuffles with a difference at least as large as the measured one, where a shuffle randomly "
    "swaps the two systems' predictions, sentence by sentence. The counts of each sentence are "
    "summed over the seeds that both systems have. n.s. means not significant: p is 0.05 or more. "
    "The test covers these sentences and these trained models only, not other seeds or other "
    "text. There is no correction for multiple comparisons."
)


def significance_caption(grid: ResultsGrid, stored: StoredPredictions) -> str:
    """What follows the caption of a table with p-values; empty where there can be none."""
    if not stored.has_any(grid.results):
        return ""
    return " p is from approximate randomization, over these sentences and seeds only."
