"""Foretells how long a study takes, from a few steps of each of its systems."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from metacross.adaptation.evaluation import f1_on
from metacross.model.model_folder import is_model_folder
from metacross.settings import Settings, with_overrides
from metacross.study.plan import Unit
from metacross.study.run_study import PlannedCell
from metacross.text.sentence import Corpus
from metacross.training.train import train_model

_STEPS, _SENTENCES = 4, 24


def seconds_of(cells: Sequence[PlannedCell], runs: Path, probe_sentences: int) -> float:
    """About how long the given cells take on this machine, with the trainings that are not in the
    folder ``runs`` yet.

    Every system is trained for a few steps and labels a few sentences; fine-tuning is not counted.
    """
    total = 0.0
    trained = {cell.unit.folder for cell in cells if is_model_folder(runs / cell.unit.folder)}
    speeds: dict[str, tuple[float, float, float]] = {}
    for unit in _units(cells):
        if unit.system not in speeds:
            speeds[unit.system] = _speed(unit)
        step, sentence, plain = speeds[unit.system]
        settings = unit.settings
        meta = settings.run.method == "meta"
        n_steps = settings.meta.steps if meta else settings.direct.steps
        n_validated = len(unit.dev) + probe_sentences * len(unit.targets)
        n_validations = -(-n_steps // settings.run.validate_every)
        if unit.folder not in trained:
            total += step * n_steps + plain * n_validated * n_validations
            trained.add(unit.folder)
        for cell in cells:
            if cell.unit is unit:
                total += (plain if cell.share else sentence) * len(cell.target.corpus)
    return total


def _units(cells: Iterable[PlannedCell]) -> list[Unit]:
    return list({id(cell.unit): cell.unit for cell in cells}.values())


def _speed(unit: Unit) -> tuple[float, float, float]:
    """Seconds for a step, for a sentence of a target, and for one at a validation."""
    marks: list[float] = []
    few = replace(unit.targets[0].corpus, sentences=unit.targets[0].corpus.sentences[:_SENTENCES])
    with tempfile.TemporaryDirectory(prefix="metacross-") as folder:
        model = train_model(
            unit.source,
            few_of(unit.dev),
            _short(unit.settings),
            folder,
            dev_score=f1_on(few_of(unit.dev)),
            watchers=[_Clock(marks)],
        )
        began = time.monotonic()
        list(model.predict_all(few, adapt=False))
        plain = sentence = (time.monotonic() - began) / len(few)
        if model.adapts:
            list(model.predict_all(few))
            sentence = (time.monotonic() - began) / len(few)
    return (marks[-1] - marks[0]) / (len(marks) - 1), sentence, plain


def few_of(corpus: Corpus) -> Corpus:
    """The first sentences with entities among them."""
    labelled = [sentence for sentence in corpus if sentence.spans][:_SENTENCES]
    return replace(corpus, sentences=tuple(labelled))


def _short(settings: Settings) -> Settings:
    changes = [f"meta.steps={_STEPS}", f"direct.steps={_STEPS}"]
    return Settings.model_validate(with_overrides(settings.model_dump(), changes))


class _Clock:
    """Notes when steps end."""

    def __init__(self, marks: list[float]) -> None:
        self._marks = marks

    def stepped(self, step: int, result: object) -> None:
        self._marks.append(time.monotonic())

    def preparing(self, what: str, n_done: int, n_all: int) -> None: ...

    def begun(self, steps_done: int, steps: int) -> None: ...

    def validated(self, step: int, f1: float, best: bool) -> None: ...

    def ended(self) -> None: ...
