"""Compares the results of two studies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metacross.errors import DataError
from metacross.metrics.significance import Comparison, compare
from metacross.study.predictions import StoredPredictions, summed
from metacross.study.results import Result, StudyFolder


@dataclass(frozen=True, slots=True)
class StudyComparison:
    """A system on a target in two studies: mean F1 over the seeds that both studies have.

    ``comparison`` (second against first) is None where a study has no stored predictions.
    """

    system: str
    target: str
    fraction: float
    n_seeds: int
    first: float
    second: float
    comparison: Comparison | None

    @property
    def difference(self) -> float:
        """F1 of the second study minus F1 of the first."""
        return self.second - self.first


def compare_studies(
    first: str | Path | StudyFolder, second: str | Path | StudyFolder
) -> list[StudyComparison]:
    """Compare all results that two study folders have in common."""
    folders = [
        folder if isinstance(folder, StudyFolder) else StudyFolder(folder)
        for folder in (first, second)
    ]
    first_results, second_results = (_by_system(_stored_results(folder)) for folder in folders)
    stored = [StoredPredictions(folder) for folder in folders]
    comparisons = []
    for system, by_seed in first_results.items():
        seeds = sorted(by_seed.keys() & second_results.get(system, {}).keys())
        if seeds:
            pairs = [(by_seed[seed], second_results[system][seed]) for seed in seeds]
            comparisons.append(_comparison(pairs, *stored))
    if not comparisons:
        raise DataError(
            f"{folders[1].folder}: expected results of a system, target and seed that "
            f"{folders[0].folder} has too, found none"
        )
    return comparisons


def _stored_results(folder: StudyFolder) -> list[Result]:
    if folder.folder.is_file():
        raise DataError(
            f"{folder.folder}: expected the folder of a study, found a file; compare files of "
            "predictions with metacross score GOLD PREDICTED --against OTHER"
        )
    results = folder.results()
    if not results:
        raise DataError(f"{folder.folder}: expected a study with results, found none")
    return results


def _comparison(
    pairs: Sequence[tuple[Result, Result]],
    first_stored: StoredPredictions,
    second_stored: StoredPredictions,
) -> StudyComparison:
    first, second = [result for result, _ in pairs], [result for _, result in pairs]
    if len({result.digests.get("target corpus") for result in (*first, *second)}) > 1:
        raise DataError(
            f"{first[0].target}: expected the same sentences in both studies and for all seeds, "
            "found different ones; compare studies of the same target files"
        )
    first_counts, second_counts = summed(first_stored, first), summed(second_stored, second)
    if first_counts is None or second_counts is None:
        comparison = None
    else:
        comparison = compare(second_counts, first_counts)
    return StudyComparison(
        system=first[0].system,
        target=first[0].target,
        fraction=first[0].fraction,
        n_seeds=len(pairs),
        first=sum(result.f1 for result in first) / len(pairs),
        second=sum(result.f1 for result in second) / len(pairs),
        comparison=comparison,
    )


def _by_system(results: Sequence[Result]) -> dict[tuple[str, str, float], dict[int, Result]]:
    """Results by seed, for each system, target and fraction."""
    by_system: dict[tuple[str, str, float], dict[int, Result]] = {}
    for result in results:
        place = (result.system, result.target, result.fraction)
        by_system.setdefault(place, {})[result.seed] = result
    return by_system
