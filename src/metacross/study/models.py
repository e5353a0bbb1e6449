"""Trains, loads and fine-tunes the models of a study, each in one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from metacross.adaptation.ner_model import NerModel
from metacross.baselines.shared_work import SharedWork
from metacross.baselines.train_baseline import train_baseline
from metacross.model.ranks import working_alone
from metacross.settings import Settings, settings_with
from metacross.study.study_corpora import StudyCorpora
from metacross.study.system_runs import SystemRun
from metacross.text.sentence import Corpus
from metacross.training.callbacks import Callback
from metacross.training.train import loaded_model, train

SHARED = "shared"
"""The folder of models that several baselines of a study have in common."""


@contextmanager
def shared_training(run: SystemRun, folder: Path, shared: Path) -> Iterator[None]:
    """While an ordinary system is trained in ``folder``, baselines of the study that need the same
    model wait for it; if one of them has trained it before, it is copied there.
    """
    settings = without_data_settings(run.training_settings)
    with SharedWork(shared).shared_with(folder, settings, run.corpora.source, run.corpora.dev):
        yield


@working_alone()
def trained_model(
    corpora: StudyCorpora, settings: Settings, folder: Path, callbacks: Sequence[Callback] = ()
) -> NerModel:
    """Train in ``folder``, resume there, or load the model if training has finished."""
    return train(
        corpora.source,
        dev=corpora.dev,
        recipe=without_data_settings(settings),
        output=folder,
        callbacks=callbacks,
    )


@working_alone()
def trained_baseline(
    run: SystemRun,
    folder: Path,
    callbacks: Sequence[Callback] = (),
    *,
    shared: Path,
    target_train: Corpus | None = None,
) -> NerModel:
    """Train a baseline for its target in ``folder``, resume there, or load it if it is finished.

    Models that several baselines of a study have in common are in ``shared``.
    """
    if run.baseline is None:
        raise ValueError("expected a system run of a baseline")
    target = run.corpora.targets[0]
    return train_baseline(
        run.baseline.name,
        run.corpora.source,
        dev=run.corpora.dev,
        target=target.name,
        resources=run.resources,
        recipe=without_data_settings(run.training_settings),
        output=folder,
        callbacks=callbacks,
        shared=shared,
        target_train=target_train,
    )


@working_alone()
def fine_tuned_model(
    folder: Path,
    settings: Settings,
    target: Corpus,
    output: Path,
    *,
    n_sentences: int,
    callbacks: Sequence[Callback] = (),
) -> NerModel:
    """Fine-tune the model of ``folder`` on some sentences of ``target``; save it in ``output``."""
    return loaded_model(folder, settings).fine_tune(
        target,
        n_sentences=n_sentences,
        seed=settings.run.seed,
        output=output,
        callbacks=callbacks,
    )


def without_data_settings(settings: Settings) -> Settings:
    """The settings for corpora whose labels are dropped and renamed already."""
    return settings_with(settings, {"data": {"drop": (), "map": {}}})
