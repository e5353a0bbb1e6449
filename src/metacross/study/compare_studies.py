"""Compares two sets of results, result by result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metacross.errors import DataError
from metacross.metrics.significance import Comparison, compare
from metacross.study.predictions import StoredPredictions, summed
from metacross.study.results import Result, StudyFolder


@dataclass(frozen=True, slots=True)
class Pair:
    """The same system and target in two sets, means over the seeds that both have.

    ``comparison`` (theirs against ours) is None where the predictions of one were not kept.
    """

    system: str
    target: str
    fraction: float
    n_seeds: int
    ours: float
    theirs: float
    comparison: Comparison | None


def paired(ours: StudyFolder, theirs: StudyFolder) -> list[Pair]:
    """All that both sets have."""
    first, second = _by_place(ours.results()), _by_place(theirs.results())
    for folder, found in ((ours.folder, first), (theirs.folder, second)):
        if not found:
            raise DataError(f"{folder}: expected results of a study, found none yet")
    stored = StoredPredictions(ours), StoredPredictions(theirs)
    pairs = []
    for place in first:
        seeds = sorted(first[place].keys() & second.get(place, {}).keys())
        if seeds:
            results = [(first[place][seed], second[place][seed]) for seed in seeds]
            pairs.append(_pair(results, *stored))
    if not pairs:
        raise DataError(
            f"{theirs.folder}: expected results of a system, target and seed that "
            f"{ours.folder} has too, found none"
        )
    return pairs


def _pair(
    results: Sequence[tuple[Result, Result]], ours: StoredPredictions, theirs: StoredPredictions
) -> Pair:
    first, second = [a for a, _ in results], [b for _, b in results]
    if len({result.digests["target corpus"] for result in (*first, *second)}) > 1:
        raise DataError(
            f"{first[0].target}: expected the same sentences in both studies and for all seeds, "
            "found others; compare studies of the same target files"
        )
    own, other = summed(ours, first), summed(theirs, second)
    comparison = None if own is None or other is None else compare(other, own)
    return Pair(
        system=first[0].system,
        target=first[0].target,
        fraction=first[0].fraction,
        n_seeds=len(results),
        ours=sum(result.f1 for result in first) / len(results),
        theirs=sum(result.f1 for result in second) / len(results),
        comparison=comparison,
    )


def _by_place(results: Sequence[Result]) -> dict[tuple[str, str, float], dict[int, Result]]:
    found: dict[tuple[str, str, float], dict[int, Result]] = {}
    for result in results:
        found.setdefault((result.system, result.target, result.fraction), {})[result.seed] = result
    return found
