"""Compares two sets of results, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metacross.errors import DataError
from metacross.metrics.significance import Comparison, compare
from metacross.study.predictions import Evidence, summed
from metacross.study.results import Cell, StudyFolder


@dataclass(frozen=True, slots=True)
class Pair:
    """The same system and target in two sets, means over the seeds that both have.

    ``comparison`` (theirs against ours) is None where the predictions of one were not kept.
    """

    system: str
    target: str
    setting: str
    n_seeds: int
    ours: float
    theirs: float
    comparison: Comparison | None


def paired(ours: StudyFolder, theirs: StudyFolder) -> list[Pair]:
    """All that both sets have."""
    first, second = _by_place(ours.cells()), _by_place(theirs.cells())
    for folder, found in ((ours.folder, first), (theirs.folder, second)):
        if not found:
            raise DataError(f"{folder}: expected results of a study, found none yet")
    evidence = Evidence(ours), Evidence(theirs)
    pairs = []
    for place in first:
        seeds = sorted(first[place].keys() & second.get(place, {}).keys())
        if seeds:
            cells = [(first[place][seed], second[place][seed]) for seed in seeds]
            pairs.append(_pair(cells, *evidence))
    if not pairs:
        raise DataError(
            f"{theirs.folder}: expected results of a system, target and seed that "
            f"{ours.folder} has too, found none"
        )
    return pairs


def _pair(cells: Sequence[tuple[Cell, Cell]], ours: Evidence, theirs: Evidence) -> Pair:
    first, second = [a for a, _ in cells], [b for _, b in cells]
    if len({cell.digests["target corpus"] for cell in (*first, *second)}) > 1:
        raise DataError(
            f"{first[0].target}: expected the same sentences in both studies and for all seeds, "
            "found others; compare studies of the same target files"
        )
    own, other = summed(ours, first), summed(theirs, second)
    comparison = None if own is None or other is None else compare(other, own)
    return Pair(
        system=first[0].system,
        target=first[0].target,
        setting=first[0].setting,
        n_seeds=len(cells),
        ours=sum(cell.f1 for cell in first) / len(cells),
        theirs=sum(cell.f1 for cell in second) / len(cells),
        comparison=comparison,
    )


def _by_place(cells: Sequence[Cell]) -> dict[tuple[str, str, str], dict[int, Cell]]:
    found: dict[tuple[str, str, str], dict[int, Cell]] = {}
    for cell in cells:
        found.setdefault((cell.system, cell.target, cell.setting), {})[cell.seed] = cell
    return found
