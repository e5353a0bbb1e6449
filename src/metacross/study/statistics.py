"""Arranges the results of a study by fraction, system, target and seed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metacross.study.results import Mode, Result

Seeds: TypeAlias = Mapping[int, Result]
"""The results of a system on a target with a fraction, by seed."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean over seeds in points; ``deviation`` is None for a single seed."""

    mean: float
    deviation: float | None
    n_seeds: int

    @classmethod
    def of(cls, f1s: Sequence[float]) -> Spread:
        """The mean and the sample standard deviation of F1 scores between 0 and 1."""
        points = [100 * f1 for f1 in f1s]
        deviation = statistics.stdev(points) if len(points) > 1 else None
        return cls(statistics.fmean(points), deviation, len(points))


@dataclass(frozen=True, slots=True)
class ResultsGrid:
    """Results, at most one for each fraction, system, target and seed; ``replaced`` is the number
    of earlier results that later ones replaced.
    """

    results: tuple[Result, ...]
    replaced: int

    @classmethod
    def of(cls, results: Sequence[Result]) -> ResultsGrid:
        """The grid of a study; of several results for the same place the last one counts."""
        last = {
            (result.fraction, result.system, result.target, result.seed): result
            for result in results
        }
        return cls(tuple(last.values()), len(results) - len(last))

    @property
    def fractions(self) -> list[float]:
        """Zero-shot (0.0) first."""
        return sorted({result.fraction for result in self.results})

    @property
    def targets(self) -> list[str]:
        """All targets, in the order of the results."""
        return _in_order(result.target for result in self.results)

    @property
    def seeds(self) -> list[int]:
        """All seeds."""
        return sorted({result.seed for result in self.results})

    def systems(self, fraction: float | None = None) -> list[str]:
        """The systems of a fraction, in the order of the results; None: of all fractions."""
        return _in_order(
            result.system
            for result in self.results
            if fraction is None or result.fraction == fraction
        )

    def targets_in(self, fraction: float) -> list[str]:
        """The targets of a fraction."""
        of_fraction = {result.target for result in self.results if result.fraction == fraction}
        return [target for target in self.targets if target in of_fraction]

    def at(self, fraction: float, system: str, target: str) -> Seeds:
        """The results of a system on a target with a fraction, by seed; empty: there are none."""
        results = [
            result
            for result in self.results
            if (result.fraction, result.system, result.target) == (fraction, system, target)
        ]
        return {result.seed: result for result in sorted(results, key=lambda result: result.seed)}

    def shared_targets(self, fraction: float) -> list[str]:
        """The targets that all systems of a fraction have; averages are taken over them."""
        return [
            target
            for target in self.targets_in(fraction)
            if all(self.at(fraction, system, target) for system in self.systems(fraction))
        ]

    def most_seeds(self, fraction: float) -> int:
        """The largest number of seeds of a system on a target of a fraction."""
        places = [
            self.at(fraction, system, target)
            for system in self.systems(fraction)
            for target in self.targets_in(fraction)
        ]
        return max(map(len, places))

    @property
    def reference(self) -> str:
        """The system that the others are compared with: base, or the first."""
        systems = self.systems()
        return "base" if "base" in systems else systems[0]

    @property
    def challenger(self) -> str | None:
        """The system whose adaptation the report analyzes: ours, or the last that adapts; None: no
        system adapts.
        """
        adapting = _in_order(result.system for result in self.results if "adapted" in result.counts)
        return "ours" if "ours" in adapting else next(reversed(adapting), None)


def spread(results: Seeds, mode: Mode | None = None) -> Spread | None:
    """The mean over seeds in a mode (None: the reported mode); None: there are no results."""
    return Spread.of([result.score(mode).f1 for result in results.values()]) if results else None


def average(grid: ResultsGrid, fraction: float, system: str) -> Spread | None:
    """The mean of a system's means over the shared targets; None: no target is shared. Its
    deviation is that of the averages by seed, over the seeds that have all of these targets.
    """
    places = [grid.at(fraction, system, target) for target in grid.shared_targets(fraction)]
    if not places:
        return None
    means = [Spread.of([result.f1 for result in place.values()]).mean for place in places]
    common_seeds = sorted(set.intersection(*(set(place) for place in places)))
    by_seed = [statistics.fmean(place[seed].f1 for place in places) for seed in common_seeds]
    deviation = Spread.of(by_seed).deviation if by_seed else None
    return Spread(statistics.fmean(means), deviation, min(map(len, places)))


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
