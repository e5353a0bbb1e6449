"""Trains one system of a study and scores it on its targets."""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import SentencePrediction
from metacross.baselines.train_baseline import training_seconds
from metacross.metrics.scoring import counts_by_sentence, score
from metacross.model.model_mark import is_model_folder
from metacross.model.peak_memory import peak_memory
from metacross.study.callbacks import StudyCallback
from metacross.study.models import (
    SHARED,
    fine_tuned_model,
    shared_training,
    trained_baseline,
    trained_model,
)
from metacross.study.packed_counts import packed_counts
from metacross.study.results import (
    Mode,
    Result,
    StoredSentence,
    StudyFolder,
    TrainingSummary,
    counts_of,
)
from metacross.study.system_runs import PlannedResult, SystemRun
from metacross.study.target_curves import TargetCurves
from metacross.text.sentence import Corpus
from metacross.training.run_folder import RunFolder
from metacross.training.sampling import random_subset
from metacross.training.train import loaded_model

_CURVE_POINTS = 40  # of the loss, in a training summary


def run_system(
    system_run: SystemRun,
    planned_results: Sequence[PlannedResult],
    folder: StudyFolder,
    callback: StudyCallback,
    *,
    curve_sentences: int,
    with_baselines: bool,
) -> None:
    """Train a system, unless it is trained already, and save the planned results.

    In a study ``with_baselines`` they share the models that they have in common with it.
    """
    callback.on_system_begin(system_run)
    run_folder = folder.runs / system_run.folder
    target_curves = TargetCurves(
        system_run.corpora.targets, run_folder / "training" / "targets.jsonl", curve_sentences
    )
    model: NerModel | None = None
    shared = run_folder.parent / SHARED
    if system_run.baseline is not None:
        was_trained = is_model_folder(run_folder)
        with peak_memory() as peak:
            if not all(_learns_target_text(planned) for planned in planned_results):
                model = trained_baseline(
                    system_run, run_folder, callbacks=[callback], shared=shared
                )
        summary = _baseline_summary(run_folder, folder.runs)
    else:
        sharing = shared_training(system_run, run_folder, shared)
        with sharing if with_baselines else nullcontext(), peak_memory() as peak:
            was_trained = is_model_folder(run_folder)
            model = trained_model(
                system_run.corpora,
                system_run.training_settings,
                run_folder,
                callbacks=[callback, target_curves],
            )
        if system_run.settings != system_run.training_settings:
            model = loaded_model(run_folder, system_run.settings)
        summary = _training_summary(RunFolder(run_folder), target_curves)
    if not was_trained:
        summary = summary.model_copy(update={"megabytes": peak.megabytes})
    for planned in planned_results:
        start = time.monotonic()
        training = summary
        if model is None or _learns_target_text(planned):
            scored_model, training = _trained_alone(planned, run_folder, callback)
        elif planned.fraction == 0:
            scored_model = model
        else:
            scored_model = _fine_tuned(planned, run_folder, callback)
        predictions = _predictions(scored_model, planned, callback)
        labeled = {mode: _labeled_corpus(of_mode) for mode, of_mode in predictions.items()}
        result = _result(planned, labeled, training, time.monotonic() - start)
        folder.add_corpus(planned.digests["source corpus"], system_run.corpora.source)
        folder.add_corpus(planned.digests["target corpus"], planned.target.corpus)
        with_neighbors = system_run.baseline is None  # others may have another datastore
        folder.add(result, _sentence_predictions(predictions, with_neighbors=with_neighbors))
        callback.on_result(result)


def _learns_target_text(planned: PlannedResult) -> bool:
    """Whether the system is trained on the fraction together with the rest, not fine-tuned."""
    baseline = planned.system_run.baseline
    return planned.fraction > 0 and baseline is not None and baseline.takes_target_train


def _trained_alone(
    planned: PlannedResult, run_folder: Path, callback: StudyCallback
) -> tuple[NerModel, TrainingSummary]:
    """The model of a system that learns labeled target text, and how it was trained."""
    run = planned.system_run
    # The seeds of a system may share the run folder.
    output = run_folder / f"{_output_name(planned)}-seed-{run.seed}"
    train, n_sentences = _target_text(planned)
    was_trained = is_model_folder(output)
    with peak_memory() as peak:
        model = trained_baseline(
            run,
            output,
            callbacks=[callback],
            shared=run_folder.parent / SHARED,
            target_train=random_subset(train, n_sentences, run.seed),
        )
    summary = _baseline_summary(output, run_folder.parent)
    if not was_trained:
        summary = summary.model_copy(update={"megabytes": peak.megabytes})
    return model, summary


def _fine_tuned(planned: PlannedResult, run_folder: Path, callback: StudyCallback) -> NerModel:
    output = run_folder / f"{_output_name(planned)}-{planned.fine_tuning_digest}"
    train, n_sentences = _target_text(planned)
    settings = planned.system_run.settings
    return fine_tuned_model(
        run_folder, settings, train, output, n_sentences=n_sentences, callbacks=[callback]
    )


def _target_text(planned: PlannedResult) -> tuple[Corpus, int]:
    """The labeled target sentences, and how many of them the fraction is."""
    train = planned.target.train
    if train is None or not planned.fraction:
        raise ValueError("expected labeled target sentences for a fraction above 0, found none")
    return train, max(1, round(planned.fraction * len(train)))


def _output_name(planned: PlannedResult) -> str:
    """How the name of the folder of a model that learned a fraction begins."""
    run = planned.system_run
    prefix = "" if run.system == run.trained_as else f"{run.system}-"
    return f"{prefix}{planned.target.name}-{100 * planned.fraction:g}"


def _predictions(
    model: NerModel, planned: PlannedResult, callback: StudyCallback
) -> dict[Mode, list[SentencePrediction]]:
    """Label the target not adapted and, where the model adapts, adapted; keep its labels."""
    corpus, labels = planned.target.corpus, frozenset(planned.target.labels)
    modes: list[Mode] = ["plain", "adapted"] if model.adapts else ["plain"]
    predictions: dict[Mode, list[SentencePrediction]] = {}
    for mode in modes:

        def progress(n_done: int, mode: Mode = mode) -> None:
            callback.on_scoring(f"{planned.target.name}, {mode}", n_done, len(corpus))

        stream = model.predict_stream(corpus, adapt=mode == "adapted", progress=progress)
        predictions[mode] = [prediction.only(labels) for prediction in stream]
    return predictions


def _labeled_corpus(predictions: Sequence[SentencePrediction]) -> Corpus:
    return Corpus(tuple(prediction.labeled for prediction in predictions))


def _sentence_predictions(
    predictions: Mapping[Mode, Sequence[SentencePrediction]], *, with_neighbors: bool
) -> list[StoredSentence]:
    by_sentence = zip(*predictions.values(), strict=True)
    return [
        StoredSentence(
            spans={
                mode: prediction.spans
                for mode, prediction in zip(predictions, of_sentence, strict=True)
            },
            neighbors=tuple(
                (n.position, n.similarity) for n in of_sentence[-1].neighbors if with_neighbors
            ),
        )
        for of_sentence in by_sentence
    ]


def _result(
    planned: PlannedResult,
    labeled: Mapping[Mode, Corpus],
    summary: TrainingSummary,
    seconds: float,
) -> Result:
    packages = ("metacross", "torch", "transformers", "tokenizers", "numpy")
    run, gold = planned.system_run, planned.target.corpus
    return Result(
        key=planned.key,
        system=run.system,
        seed=run.seed,
        target=planned.target.name,
        fraction=planned.fraction,
        labels=run.labels,
        reported_mode="adapted" if "adapted" in labeled else "plain",
        counts={mode: counts_of(score(gold, corpus)) for mode, corpus in labeled.items()},
        sentence_counts={
            mode: packed_counts(counts_by_sentence(gold, corpus))
            for mode, corpus in labeled.items()
        },
        training=summary,
        seconds=round(seconds, 1),
        digests=dict(planned.digests),
        versions={name: version(name) for name in packages},
        machine=f"{platform.system()} {platform.machine()}",
        recipe=run.settings.model_dump(mode="json"),
    )


def _baseline_summary(folder: Path, runs: Path) -> TrainingSummary:
    seconds = round(training_seconds(folder), 1)
    name = folder.relative_to(runs).as_posix()
    return TrainingSummary(folder=name, seconds=seconds, best_step=0)


def _training_summary(run_folder: RunFolder, target_curves: TargetCurves) -> TrainingSummary:
    record = json.loads(run_folder.record.read_text(encoding="utf-8"))
    log = [json.loads(line) for line in run_folder.log.read_text(encoding="utf-8").splitlines()]
    losses = [(line["step"], line["loss"]) for line in log if "loss" in line]
    return TrainingSummary(
        folder=run_folder.folder.name,
        seconds=record["seconds"],
        best_step=record["best_step"],
        validations=tuple((step, f1) for step, f1 in record["validations"]),
        target_validations=target_curves.curves(),
        losses=_mean_losses(losses),
    )


def _mean_losses(losses: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Mean losses over about equally many steps, each with its last step; infinite losses and NaN
    are left out.
    """
    finite = [(step, loss) for step, loss in losses if math.isfinite(loss)]
    size = max(1, -(-len(finite) // _CURVE_POINTS))
    parts = [finite[start : start + size] for start in range(0, len(finite), size)]
    return tuple(
        (part[-1][0], round(sum(loss for _, loss in part) / len(part), 4)) for part in parts
    )
