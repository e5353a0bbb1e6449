"""Averages the losses and validations of training runs over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from metacross.study.results import Result
from metacross.study.statistics import ResultsBySeed

Curve = tuple[tuple[int, float], ...]
"""Values by step."""


@dataclass(frozen=True, slots=True)
class SelectedF1:
    """F1 on a target without adaptation, in points, by how the weights were selected.

    ``by_source`` is best on the source language's dev corpus, ``last`` is the last validation, and
    ``oracle`` is best on the target itself.
    """

    by_source: float
    last: float
    oracle: float


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean of curves at the steps that all of them have; empty where there are none."""
    values = [dict(curve) for curve in curves]
    shared_steps = sorted(set.intersection(*map(set, values))) if values else []
    return tuple((step, statistics.fmean(v[step] for v in values)) for step in shared_steps)


def mean_selected_f1(results: ResultsBySeed) -> SelectedF1 | None:
    """Mean over the seeds that were validated on the target at their best step; None where there
    are none.
    """
    by_seed = [_selected_f1(result) for result in results.values()]
    known = [selected for selected in by_seed if selected is not None]
    if not known:
        return None
    return SelectedF1(
        by_source=statistics.fmean(selected.by_source for selected in known),
        last=statistics.fmean(selected.last for selected in known),
        oracle=statistics.fmean(selected.oracle for selected in known),
    )


def _selected_f1(result: Result) -> SelectedF1 | None:
    f1s = dict(result.training.target_validations.get(result.target, ()))
    if result.training.best_step not in f1s:
        return None
    return SelectedF1(
        by_source=100 * f1s[result.training.best_step],
        last=100 * f1s[max(f1s)],
        oracle=100 * max(f1s.values()),
    )
