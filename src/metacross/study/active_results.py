"""Stores the results of a study of active learning: one line of JSON for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from pydantic import ValidationError

from metacross.errors import DataError
from metacross.metrics.significance import f1
from metacross.study.results import JsonRecord

NOTHING = "nothing"
"""How a model learns and sentences are chosen where no sentence is labeled yet."""


class ActiveResult(JsonRecord):
    """The F1 of a model that learned from some labeled sentences of the target.

    ``way`` is how the sentences were chosen, ``learning`` how the model learned from them.
    ``positions`` are the chosen sentences of the pool. ``counts`` are correct, predicted and gold
    entities of each sentence of the target. ``seconds`` is the time to learn, without choosing and
    scoring.
    """

    key: str
    target: str
    seed: int
    way: str
    learning: str
    size: int
    positions: tuple[int, ...]
    counts: tuple[tuple[int, int, int], ...]
    seconds: float
    select_seconds: float = 0.0

    @property
    def sentence_counts(self) -> NDArray[np.int64]:
        """The counts as an array. *Shape:* (sentences, 3)."""
        return np.array(self.counts, dtype=np.int64).reshape(-1, 3)

    @property
    def f1(self) -> float:
        """F1 over all sentences."""
        return float(f1(self.sentence_counts.sum(axis=0)))


class ActiveFolder:
    """The folder of a study of active learning. Several processes can add results at once."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.results_file = self.folder / "active.jsonl"
        self.runs = self.folder / "runs"

    def results(self) -> list[ActiveResult]:
        """All results; a last line that a kill cut off is left out."""
        try:
            text = self.results_file.read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return []
        lines = text.split("\n")[:-1]
        return [_parsed(line, f"{self.results_file}:{n}") for n, line in enumerate(lines, start=1)]

    def add(self, result: ActiveResult) -> None:
        """Append a result."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "active.lock"), self.results_file.open("ab+") as file:
            file.seek(0)
            content = file.read()
            if content and not content.endswith(b"\n"):
                file.truncate(content.rfind(b"\n") + 1)
            file.write(result.model_dump_json().encode() + b"\n")


def _parsed(line: str, place: str) -> ActiveResult:
    try:
        return ActiveResult.model_validate_json(line)
    except ValidationError as problem:
        raise DataError(
            f"{place}: expected a result of a study of active learning, found "
            f"{problem.errors()[0]['msg']}"
        ) from None
