"""Arranges the cells of a study by setting, system, target and seed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metacross.study.results import Cell, Reading

Seeds: TypeAlias = Mapping[int, Cell]
"""The cells of a place of a table, by seed."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean over seeds in points; ``deviation`` is None where there is one seed only."""

    mean: float
    deviation: float | None
    n_seeds: int

    @classmethod
    def of(cls, f1s: Sequence[float]) -> Spread:
        """The mean and the sample's standard deviation of F1 between 0 and 1."""
        points = [100 * f1 for f1 in f1s]
        deviation = statistics.stdev(points) if len(points) > 1 else None
        return cls(statistics.fmean(points), deviation, len(points))


@dataclass(frozen=True, slots=True)
class ResultsGrid:
    """Cells, one at most for a place and seed; ``replaced`` is how many lines later ones of the
    same place and seed replaced.
    """

    cells: tuple[Cell, ...]
    replaced: int

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> ResultsGrid:
        """The grid of a study; what was measured last counts."""
        last = {(cell.setting, cell.system, cell.target, cell.seed): cell for cell in cells}
        return cls(tuple(last.values()), len(cells) - len(last))

    @property
    def settings(self) -> list[str]:
        """Zero-shot first, then by the share of labelled sentences."""
        return sorted({cell.setting for cell in self.cells}, key=_share)

    @property
    def targets(self) -> list[str]:
        """All targets, in the order of the results."""
        return _in_order(cell.target for cell in self.cells)

    @property
    def seeds(self) -> list[int]:
        """All seeds."""
        return sorted({cell.seed for cell in self.cells})

    def systems(self, setting: str | None = None) -> list[str]:
        """The systems of a setting, in the order of the results; None: of all settings."""
        return _in_order(c.system for c in self.cells if setting is None or c.setting == setting)

    def targets_in(self, setting: str) -> list[str]:
        """The targets of a setting."""
        there = {cell.target for cell in self.cells if cell.setting == setting}
        return [target for target in self.targets if target in there]

    def at(self, setting: str, system: str, target: str) -> Seeds:
        """The cells of a place; none where it was not measured yet."""
        place = (setting, system, target)
        found = [c for c in self.cells if (c.setting, c.system, c.target) == place]
        return {cell.seed: cell for cell in sorted(found, key=lambda cell: cell.seed)}

    def shared_targets(self, setting: str) -> list[str]:
        """The targets that all systems of a setting have: what the average is taken over."""
        return [
            target
            for target in self.targets_in(setting)
            if all(self.at(setting, system, target) for system in self.systems(setting))
        ]

    def most_seeds(self, setting: str) -> int:
        """How many seeds the best measured place of a setting has."""
        places = [
            self.at(setting, system, target)
            for system in self.systems(setting)
            for target in self.targets_in(setting)
        ]
        return max(map(len, places))

    @property
    def reference(self) -> str:
        """The system that the others are compared with: base, or else the first."""
        systems = self.systems()
        return "base" if "base" in systems else systems[0]

    @property
    def challenger(self) -> str | None:
        """The system whose adaptation is looked into: ours, or else the last that adapts; None
        where none does.
        """
        adapting = _in_order(c.system for c in self.cells if "adapted" in c.readings)
        return "ours" if "ours" in adapting else next(reversed(adapting), None)


def spread(cells: Seeds, reading: Reading | None = None) -> Spread | None:
    """The mean over seeds in a reading, None: the one that the tables show. None comes back where
    there are no cells.
    """
    return Spread.of([cell.score(reading).f1 for cell in cells.values()]) if cells else None


def average(grid: ResultsGrid, setting: str, system: str) -> Spread | None:
    """The mean of a system's means over the shared targets. It varies as the averages of the seeds
    do that have all of these targets. None where no target is shared.
    """
    places = [grid.at(setting, system, target) for target in grid.shared_targets(setting)]
    if not places:
        return None
    means = [Spread.of([cell.f1 for cell in place.values()]).mean for place in places]
    whole = sorted(set.intersection(*(set(place) for place in places)))
    by_seed = [statistics.fmean(place[seed].f1 for place in places) for seed in whole]
    deviation = Spread.of(by_seed).deviation if by_seed else None
    return Spread(statistics.fmean(means), deviation, min(map(len, places)))


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _share(setting: str) -> tuple[int, float, str]:
    """What settings are sorted by: zero-shot, shares, anything else by name."""
    if setting == "zero-shot":
        return (0, 0.0, "")
    number = setting.removesuffix("%")
    try:
        return (1, float(number), "")
    except ValueError:
        return (2, 0.0, setting)
