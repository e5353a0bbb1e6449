"""Watches how a training does on the targets, which it never chooses anything by."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from metacross.adaptation.evaluation import f1_on
from metacross.adaptation.prediction import Prediction
from metacross.study.plan import Target
from metacross.text.sentence import Corpus
from metacross.training.loop import StepResult


class TargetCurves:
    """Scores some sentences of each target at every validation, for the report only."""

    def __init__(self, targets: Sequence[Target], path: Path, n_sentences: int) -> None:
        self._path = path
        self._corpora = {target.name: _spread(target.corpus, n_sentences) for target in targets}
        self._latest: dict[str, float] = {}

    def look(self, label: Callable[[Corpus], Sequence[Prediction]]) -> None:
        """Score the weights of this moment."""
        self._latest = {
            name: f1_on(corpus)(label(corpus))
            for name, corpus in self._corpora.items()
            if corpus.n_entities
        }

    def found(self) -> dict[str, tuple[tuple[int, float], ...]]:
        """F1 by target and step."""
        rows: dict[int, dict[str, float]] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # cut off, where the power failed
                    values = json.loads(line)
                    rows[values["step"]] = values["f1"]  # a step that was taken again counts once
        return {
            name: tuple((step, f1[name]) for step, f1 in sorted(rows.items()) if name in f1)
            for name in self._corpora
        }

    def validated(self, step: int, f1: float, best: bool) -> None:
        """Write the scores down."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps({"step": step, "f1": self._latest}))

    def preparing(self, what: str, n_done: int, n_all: int) -> None:
        """Of no concern."""

    def begun(self, steps_done: int, steps: int) -> None:
        """Of no concern."""

    def stepped(self, step: int, result: StepResult) -> None:
        """Of no concern."""

    def ended(self) -> None:
        """Of no concern."""


def _spread(corpus: Corpus, n: int) -> Corpus:
    """So many sentences from all parts of a corpus."""
    n = min(n, len(corpus))
    chosen = (corpus[i * len(corpus) // n] for i in range(n))
    return replace(corpus, sentences=tuple(chosen))
