"""Averages the results of a study over seeds and targets."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metacross.metrics.scoring import Score
from metacross.study.results import Mode, Result

ResultsBySeed: TypeAlias = Mapping[int, Result]
"""The results of one system on one target with one fraction."""


@dataclass(frozen=True, slots=True)
class MeanF1:
    """Mean F1 over seeds, in points; ``deviation`` is None where there is only one seed."""

    mean: float
    deviation: float | None
    n_seeds: int

    @classmethod
    def of(cls, f1s: Sequence[float]) -> MeanF1:
        """Mean and sample standard deviation of F1 values between 0 and 1."""
        points = [100 * f1 for f1 in f1s]
        deviation = statistics.stdev(points) if len(points) > 1 else None
        return cls(statistics.fmean(points), deviation, len(points))


@dataclass(frozen=True, slots=True)
class ResultsGrid:
    """The results of a study by fraction, system, target and seed, at most one for each of them.

    ``n_replaced`` counts older results that a newer one replaced.
    """

    results: tuple[Result, ...]
    n_replaced: int

    @classmethod
    def of(cls, results: Sequence[Result]) -> ResultsGrid:
        """Arrange results; of several for the same place, the last counts."""
        newest = {
            (result.fraction, result.system, result.target, result.seed): result
            for result in results
        }
        return cls(tuple(newest.values()), len(results) - len(newest))

    @property
    def fractions(self) -> list[float]:
        """All fractions; zero-shot (0.0) first."""
        return sorted({result.fraction for result in self.results})

    @property
    def seeds(self) -> list[int]:
        """All seeds."""
        return sorted({result.seed for result in self.results})

    @property
    def targets(self) -> list[str]:
        """All targets, in the order of the results."""
        return _unique(result.target for result in self.results)

    @property
    def systems(self) -> list[str]:
        """All systems, in the order of the results."""
        return _unique(result.system for result in self.results)

    def systems_in(self, fraction: float) -> list[str]:
        """The systems with results for a fraction."""
        return _unique(result.system for result in self.results_in(fraction))

    def targets_in(self, fraction: float) -> list[str]:
        """The targets with results for a fraction, in the order of ``targets``."""
        evaluated = {result.target for result in self.results_in(fraction)}
        return [target for target in self.targets if target in evaluated]

    def results_in(self, fraction: float) -> list[Result]:
        """The results of a fraction."""
        return [result for result in self.results if result.fraction == fraction]

    def at(self, fraction: float, system: str, target: str) -> ResultsBySeed:
        """The results for one table entry; empty where it was not evaluated yet."""
        results = [
            result
            for result in self.results_in(fraction)
            if result.system == system and result.target == target
        ]
        return {result.seed: result for result in sorted(results, key=lambda result: result.seed)}

    def shared_targets(self, fraction: float) -> list[str]:
        """The targets that all systems of a fraction have; averages are over these."""
        return [
            target
            for target in self.targets_in(fraction)
            if all(self.at(fraction, system, target) for system in self.systems_in(fraction))
        ]

    def max_seeds(self, fraction: float) -> int:
        """The largest number of seeds that a system has on a target."""
        return max(
            len(self.at(fraction, system, target))
            for system in self.systems_in(fraction)
            for target in self.targets_in(fraction)
        )

    @property
    def baseline(self) -> str:
        """The system that the others are compared with: ``base``, otherwise the first."""
        return "base" if "base" in self.systems else self.systems[0]

    @property
    def adapting_system(self) -> str | None:
        """The system whose adaptation is examined: ``ours``, otherwise the last that adapts; None
        where no system adapts.
        """
        adapting = _unique(r.system for r in self.results if "adapted" in evaluated_modes(r))
        return "ours" if "ours" in adapting else next(reversed(adapting), None)

    def can_compare_systems(self, fraction: float) -> bool:
        """Whether a fraction has the baseline and another system."""
        systems = self.systems_in(fraction)
        return self.baseline in systems and len(systems) > 1

    @property
    def n_missing(self) -> int:
        """How many results are missing until every system of a fraction has been evaluated on
        every target of it with every seed of it.
        """
        n_missing = 0
        for fraction in self.fractions:
            results = self.results_in(fraction)
            n_seeds = len({result.seed for result in results})
            n_expected = len(self.systems_in(fraction)) * len(self.targets_in(fraction)) * n_seeds
            n_missing += n_expected - len(results)
        return n_missing

    @property
    def systems_by_run(self) -> list[list[str]]:
        """The systems in groups that use the same training runs."""
        groups: dict[frozenset[str], list[str]] = {}
        for system in self.systems:
            runs = {result.training.folder for result in self.results if result.system == system}
            groups.setdefault(frozenset(runs), []).append(system)
        return list(groups.values())


def evaluated_modes(result: Result) -> tuple[Mode, ...]:
    """The modes that a result has scores for."""
    return tuple(result.counts)


def label_score(result: Result, label: str) -> Score:
    """The score of one label in the reported mode; no entities where the label is unknown."""
    counts = result.counts[result.reported_mode].get(label)
    return Score(counts.correct, counts.predicted, counts.gold) if counts else Score(0, 0, 0)


def mean_f1(results: ResultsBySeed) -> MeanF1 | None:
    """Mean over seeds in the reported mode; None where there are no results."""
    return MeanF1.of([result.f1 for result in results.values()]) if results else None


def mean_label_f1(results: ResultsBySeed, label: str) -> float | None:
    """Mean F1 of a label in points, over the seeds with gold or predicted entities of this label;
    None where no seed has any.
    """
    scores = [label_score(result, label) for result in results.values()]
    f1s = [score.f1 for score in scores if score.predicted + score.gold]
    return 100 * statistics.fmean(f1s) if f1s else None


def average_f1(grid: ResultsGrid, fraction: float, system: str) -> MeanF1 | None:
    """The mean of a system's means on the shared targets; None where no target is shared.

    The deviation is that of the averages by seed, over the seeds that have all shared targets.
    """
    by_target = [grid.at(fraction, system, target) for target in grid.shared_targets(fraction)]
    if not by_target:
        return None
    means = [100 * statistics.fmean(r.f1 for r in results.values()) for results in by_target]
    complete_seeds = sorted(set.intersection(*(set(results) for results in by_target)))
    by_seed = [
        statistics.fmean(results[seed].f1 for results in by_target) for seed in complete_seeds
    ]
    deviation = MeanF1.of(by_seed).deviation if by_seed else None
    return MeanF1(statistics.fmean(means), deviation, min(map(len, by_target)))


def mean_difference(results: ResultsBySeed, baseline: ResultsBySeed) -> float | None:
    """Mean difference to the baseline in points, over the seeds that both have; None where they
    share no seed.
    """
    shared_seeds = sorted({*results} & {*baseline})
    if not shared_seeds:
        return None
    return 100 * statistics.fmean(results[seed].f1 - baseline[seed].f1 for seed in shared_seeds)


def average_difference(grid: ResultsGrid, fraction: float, system: str) -> float | None:
    """The mean of a system's differences to the baseline on the shared targets; None where there
    are none, or one of them has no difference.
    """
    differences = [
        mean_difference(grid.at(fraction, system, target), grid.at(fraction, grid.baseline, target))
        for target in grid.shared_targets(fraction)
    ]
    known = [difference for difference in differences if difference is not None]
    return statistics.fmean(known) if known and len(known) == len(differences) else None


def with_both_modes(results: ResultsBySeed) -> ResultsBySeed:
    """The results that were evaluated both with and without adaptation."""
    return {
        seed: result
        for seed, result in results.items()
        if {"plain", "adapted"} <= {*evaluated_modes(result)}
    }


def plain_and_adapted_f1(results: ResultsBySeed) -> tuple[float, float]:
    """Mean F1 in points without and with adaptation, of results that have both modes."""
    return (
        100 * statistics.fmean(result.score("plain").f1 for result in results.values()),
        100 * statistics.fmean(result.score("adapted").f1 for result in results.values()),
    )


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
