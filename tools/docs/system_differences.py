"""Prints differences between systems in ``docs/results``, with p by approximate randomization.

python -m tools.docs.system_differences 0.05 lin-ml:ours xie:mayhew
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from metacross.study.predictions import StoredPredictions, compare_systems
from metacross.study.results import StudyFolder, results_in_file
from metacross.study.statistics import ResultsBySeed, ResultsGrid, mean_difference
from tools.docs.systems_table import is_random

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def system_differences(fraction: float, system: str, other: str) -> Iterator[str]:
    """By target: F1 of a system less that of another, in points, over the seeds of both. A system
    in which nothing is random has one result, which is that of every seed.
    """
    files = ("mini-low-resource-baselines",) if fraction else ("mini-baselines", "mini-zero-shot")
    lines = [result for name in files for result in results_in_file(RESULTS / f"{name}.jsonl")]
    grid = ResultsGrid.of(lines)
    stored = StoredPredictions(StudyFolder(RESULTS))  # none: lines have counts of sentences
    for target in sorted(grid.targets):
        first, second = (grid.at(fraction, name, target) for name in (system, other))
        first, second = _with_seeds_of(first, second), _with_seeds_of(second, first)
        if not first.keys() & second.keys():
            continue
        compared = compare_systems(stored, first, second)
        p = "-" if compared is None else f"{compared.p_value:.4f}"
        yield f"{system} - {other}, {target}: {mean_difference(first, second):+.1f}, p = {p}"


def _with_seeds_of(results: ResultsBySeed, others: ResultsBySeed) -> ResultsBySeed:
    """Results; one of a system in which nothing is random is that of all seeds of the others."""
    if len(results) != 1 or any(map(is_random, results.values())):
        return results
    (result,) = results.values()
    return dict.fromkeys({*results, *others}, result)


if __name__ == "__main__":
    for pair in sys.argv[2:]:
        for line in system_differences(float(sys.argv[1]), *pair.split(":")):
            sys.stdout.write(f"{line}\n")
