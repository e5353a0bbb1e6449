"""Estimates how long a study takes, from a few training steps of each system."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metacross.model.model_mark import is_model_folder
from metacross.settings import Settings, settings_with
from metacross.study.models import trained_model
from metacross.study.system_runs import PlannedResult, SystemRun
from metacross.text.sentence import Corpus
from metacross.training.callbacks import Callback

_STEPS, _SENTENCES = 4, 24


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds per training step, per scored target sentence, and per sentence not adapted."""

    step: float
    scored_sentence: float
    plain_sentence: float


def estimate_seconds(
    planned_results: Sequence[PlannedResult], runs: Path, curve_sentences: int
) -> float:
    """About how long the planned results take on this machine, without fine-tuning and baselines.

    Training runs that are finished in the folder ``runs`` take no time. Every system is trained for
    a few steps and labels a few sentences. Baselines are not counted.
    """
    total = 0.0
    planned_results = [p for p in planned_results if p.system_run.baseline is None]
    trained = {
        planned.system_run.folder
        for planned in planned_results
        if is_model_folder(runs / planned.system_run.folder)
    }
    speeds: dict[str, Speed] = {}
    for system_run in _distinct_runs(planned_results):
        if system_run.system not in speeds:
            speeds[system_run.system] = _measured_speed(system_run)
        speed = speeds[system_run.system]
        if system_run.folder not in trained:
            total += _training_seconds(system_run, speed, curve_sentences)
            trained.add(system_run.folder)
        for planned in planned_results:
            if planned.system_run is system_run:
                adapts = planned.fraction == 0  # a fine-tuned model does not adapt
                seconds = speed.scored_sentence if adapts else speed.plain_sentence
                total += seconds * len(planned.target.corpus)
    return total


def _training_seconds(system_run: SystemRun, speed: Speed, curve_sentences: int) -> float:
    settings, corpora = system_run.settings, system_run.corpora
    n_steps = settings.meta.steps if settings.run.method == "meta" else settings.direct.steps
    n_validations = -(-n_steps // settings.run.validate_every)
    n_labeled = len(corpora.dev) + curve_sentences * len(corpora.targets)
    return speed.step * n_steps + speed.plain_sentence * n_labeled * n_validations


def _distinct_runs(planned_results: Iterable[PlannedResult]) -> list[SystemRun]:
    return list(
        {id(planned.system_run): planned.system_run for planned in planned_results}.values()
    )


def _measured_speed(system_run: SystemRun) -> Speed:
    corpora = replace(system_run.corpora, dev=_few_labeled(system_run.corpora.dev))
    target = corpora.targets[0].corpus
    sentences = replace(target, sentences=target.sentences[:_SENTENCES])
    clock = _StepClock()
    with tempfile.TemporaryDirectory(prefix="metacross-") as folder:
        model = trained_model(
            corpora, _with_few_steps(system_run.settings), Path(folder), callbacks=[clock]
        )
        start = time.monotonic()
        list(model.predict_stream(sentences, adapt=False))
        plain = scored = (time.monotonic() - start) / len(sentences)
        if model.adapts:
            list(model.predict_stream(sentences, adapt=True))
            scored = (time.monotonic() - start) / len(sentences)
    return Speed(clock.seconds_per_step, scored, plain)


def _few_labeled(corpus: Corpus) -> Corpus:
    """The first sentences with entities."""
    labeled = [sentence for sentence in corpus if sentence.spans][:_SENTENCES]
    return replace(corpus, sentences=tuple(labeled))


def _with_few_steps(settings: Settings) -> Settings:
    return settings_with(settings, {"meta": {"steps": _STEPS}, "direct": {"steps": _STEPS}})


class _StepClock(Callback):
    """Measures the time between training steps."""

    def __init__(self) -> None:
        self._ends: list[float] = []

    def on_step_end(self, step: int, result: object) -> None:
        self._ends.append(time.monotonic())

    @property
    def seconds_per_step(self) -> float:
        return (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
