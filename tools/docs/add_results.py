"""Adds new lines of a study of systems to compare with to those in ``docs/results``.

python -m tools.docs.add_results systems/results.jsonl
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from metacross.study.results import Result, results_in_file
from metacross.text.writing import write_atomically

RESULTS = Path(__file__).parents[2] / "docs" / "results"
_LOW_RESOURCE = "mini-low-resource-baselines.jsonl"
_ZERO_SHOT = "mini-baselines.jsonl"
_ALL_RAW_TEXT = "mini-all-raw-text.jsonl"


def add_results(study_lines: Path, folder: Path = RESULTS) -> Counter[str]:
    """How many lines each file in ``folder`` got. Lines that are in one of them already stay
    as they are, and so do those of ordinary systems without labeled target text, which belong to
    studies of their own.
    """
    files = (folder / name for name in (_LOW_RESOURCE, _ZERO_SHOT, _ALL_RAW_TEXT))
    known = {result.key for file in files if file.exists() for result in results_in_file(file)}
    new: dict[str, list[str]] = {}
    for line in study_lines.read_text("utf-8").splitlines(keepends=True):
        result = Result.model_validate_json(line)
        if result.key not in known and ("baseline" in result.digests or result.fraction):
            known.add(result.key)
            new.setdefault(_file_of(result), []).append(line)
    for name, lines in new.items():
        path = folder / name
        before = path.read_text("utf-8") if path.exists() else ""
        write_atomically(path, [before, *lines])
    return Counter({name: len(lines) for name, lines in new.items()})


def _file_of(result: Result) -> str:
    if result.fraction:
        return _LOW_RESOURCE
    return _ZERO_SHOT if result.recipe["distillation"]["sentences"] == 4_000 else _ALL_RAW_TEXT


if __name__ == "__main__":
    for name, n_lines in add_results(Path(sys.argv[1])).items():
        sys.stdout.write(f"{name}: {n_lines} new lines\n")
