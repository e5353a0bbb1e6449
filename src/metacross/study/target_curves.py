"""Scores the targets during training, for the learning curves of the report."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacross.adaptation.evaluation import f1_of
from metacross.study.study_corpora import Target
from metacross.text.sentence import Corpus
from metacross.training.callbacks import Callback, LabelCorpus
from metacross.training.run_folder import corpus_digest


class TargetCurves(Callback):
    """Scores some sentences of each target at every validation. Training never uses the scores."""

    def __init__(self, targets: Sequence[Target], path: Path, n_sentences: int) -> None:
        self._path = path
        self._corpora = {
            target.name: _evenly_chosen(target.corpus, n_sentences) for target in targets
        }
        self._digests = {name: corpus_digest(corpus) for name, corpus in self._corpora.items()}
        self._labels = {target.name: frozenset(target.labels) for target in targets}
        self._label: LabelCorpus | None = None

    def on_model(self, label: LabelCorpus) -> None:
        """Keep the function that labels a corpus."""
        self._label = label

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """Score the targets and append a line."""
        if self._label is None:
            return
        f1_by_target = {
            name: f1_of((p.only(self._labels[name]) for p in self._label(corpus)), corpus)
            for name, corpus in self._corpora.items()
            if corpus.n_entities
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        values = {"step": step, "f1": f1_by_target, "digests": self._digests}
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(values))

    def curves(self) -> dict[str, tuple[tuple[int, float], ...]]:
        """Steps with their F1, for each target; scores of other sentences are left out."""
        curves: dict[str, dict[int, float]] = {name: {} for name in self._corpora}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # a line that a kill cut off
                    values = json.loads(line)
                    for name, f1 in self._own_scores(values):
                        curves[name][values["step"]] = f1  # a repeated step counts once
        return {name: tuple(sorted(curve.items())) for name, curve in curves.items()}

    def _own_scores(self, values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
        digests = values.get("digests", self._digests)  # lines of earlier versions have none
        for name, f1 in values["f1"].items():
            if name in self._digests and digests.get(name) == self._digests[name]:
                yield name, f1


def _evenly_chosen(corpus: Corpus, n_sentences: int) -> Corpus:
    """At most ``n_sentences`` of a corpus, at equal distances."""
    n = min(n_sentences, len(corpus))
    chosen = (corpus[i * len(corpus) // n] for i in range(n))
    return replace(corpus, sentences=tuple(chosen))
