"""Trains, opens and fine-tunes the models of a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from metacross.adaptation.evaluation import f1_on
from metacross.adaptation.ner_model import NerModel, load
from metacross.adaptation.prediction import Prediction
from metacross.settings import Settings, settings_with
from metacross.study.study_corpora import StudyCorpora
from metacross.text.sentence import Corpus
from metacross.training.loop import StepResult
from metacross.training.run_folder import AFTER_TRAINING
from metacross.training.train import fine_tune_model, train_model


class TrainingCallback:
    """Base class of callbacks of a training run. Every method does nothing."""

    def on_prepare(self, what: str, n_done: int, n_total: int) -> None:
        """Preparation before the first step has advanced."""

    def on_model(self, label: Callable[[Corpus], Sequence[Prediction]]) -> None:
        """``label(corpus)`` predicts with the weights at the time of the call, not adapted."""

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        """Training starts or resumes."""

    def on_step_end(self, step: int, result: StepResult) -> None:
        """A step is done."""

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """The dev corpus was scored."""

    def on_train_end(self) -> None:
        """Training ended or was stopped."""


def trained_model(
    corpora: StudyCorpora,
    settings: Settings,
    folder: Path,
    callbacks: Sequence[TrainingCallback] = (),
) -> NerModel:
    """Train in ``folder``, resume there, or open the model where training has finished."""

    def show_model(label: Callable[[Corpus], Sequence[Prediction]]) -> None:
        for callback in callbacks:
            callback.on_model(label)

    return train_model(
        corpora.source,
        corpora.dev,
        without_data_settings(settings),
        folder,
        dev_score=f1_on(corpora.dev),
        callbacks=[_Bridge(callback) for callback in callbacks],
        also=show_model,
    )


def opened_model(folder: Path, settings: Settings) -> NerModel:
    """Open a trained model with other settings for what comes after training."""
    values = settings.model_dump(mode="json")
    changes = [
        f"{group}.{key}={json.dumps(value)}"
        for group in AFTER_TRAINING
        for key, value in values[group].items()
    ]
    return load(folder, device=settings.run.device, settings=changes)


def fine_tuned_model(
    folder: Path,
    settings: Settings,
    target: Corpus,
    output: Path,
    *,
    n_sentences: int,
    callbacks: Sequence[TrainingCallback] = (),
) -> NerModel:
    """Fine-tune the model of ``folder`` on some sentences of ``target``; save it in ``output``."""
    return fine_tune_model(
        opened_model(folder, settings),
        target,
        output,
        n_sentences=n_sentences,
        seed=settings.run.seed,
        callbacks=[_Bridge(callback) for callback in callbacks],
    )


def predicted(
    model: NerModel,
    corpus: Corpus,
    *,
    adapt: bool,
    progress: Callable[[int], None] = lambda _n: None,
) -> list[Prediction]:
    """Label a corpus."""
    return list(model.predict_all(corpus, adapt=adapt, progress=progress))


def without_data_settings(settings: Settings) -> Settings:
    """The settings for corpora whose labels are dropped and renamed already."""
    return settings_with(settings, {"data": {"drop": (), "map": {}}})


class _Bridge:
    """Calls the methods of a callback under the names that the training loop uses."""

    def __init__(self, callback: TrainingCallback) -> None:
        self.preparing = callback.on_prepare
        self.begun = callback.on_train_begin
        self.stepped = callback.on_step_end
        self.validated = callback.on_validation
        self.ended = callback.on_train_end
