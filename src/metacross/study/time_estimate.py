"""Foretells how long a study takes, from a few steps of each of its systems."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from metacross.adaptation.evaluation import f1_on
from metacross.model.model_folder import is_model_folder
from metacross.settings import Settings, settings_with
from metacross.study.plan import SystemRun
from metacross.study.run_study import PlannedResult
from metacross.text.sentence import Corpus
from metacross.training.train import train_model

_STEPS, _SENTENCES = 4, 24


def seconds_of(planned_results: Sequence[PlannedResult], runs: Path, curve_sentences: int) -> float:
    """About how long the given planned_results take on this machine, with the trainings that are not in the
    folder ``runs`` yet.

    Every system is trained for a few steps and labels a few sentences; fine-tuning is not counted.
    """
    total = 0.0
    trained = {
        planned.system_run.folder
        for planned in planned_results
        if is_model_folder(runs / planned.system_run.folder)
    }
    speeds: dict[str, tuple[float, float, float]] = {}
    for system_run in _units(planned_results):
        if system_run.system not in speeds:
            speeds[system_run.system] = _speed(system_run)
        step, sentence, plain = speeds[system_run.system]
        settings = system_run.settings
        meta = settings.run.method == "meta"
        n_steps = settings.meta.steps if meta else settings.direct.steps
        n_validated = len(system_run.dev) + curve_sentences * len(system_run.targets)
        n_validations = -(-n_steps // settings.run.validate_every)
        if system_run.folder not in trained:
            total += step * n_steps + plain * n_validated * n_validations
            trained.add(system_run.folder)
        for planned in planned_results:
            if planned.system_run is system_run:
                total += (plain if planned.fraction else sentence) * len(planned.target.corpus)
    return total


def _units(planned_results: Iterable[PlannedResult]) -> list[SystemRun]:
    return list(
        {id(planned.system_run): planned.system_run for planned in planned_results}.values()
    )


def _speed(system_run: SystemRun) -> tuple[float, float, float]:
    """Seconds for a step, for a sentence of a target, and for one at a validation."""
    marks: list[float] = []
    few = replace(
        system_run.targets[0].corpus, sentences=system_run.targets[0].corpus.sentences[:_SENTENCES]
    )
    with tempfile.TemporaryDirectory(prefix="metacross-") as folder:
        model = train_model(
            system_run.source,
            few_of(system_run.dev),
            _short(system_run.settings),
            folder,
            dev_score=f1_on(few_of(system_run.dev)),
            callbacks=[_Clock(marks)],
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
    labeled = [sentence for sentence in corpus if sentence.spans][:_SENTENCES]
    return replace(corpus, sentences=tuple(labeled))


def _short(settings: Settings) -> Settings:
    changes = [f"meta.steps={_STEPS}", f"direct.steps={_STEPS}"]
    return settings_with(settings, changes)


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
