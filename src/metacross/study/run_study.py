"""Runs a study: trains what is not trained yet, scores what is not scored yet."""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from metacross.adaptation.evaluation import f1_on
from metacross.adaptation.ner_model import NerModel, load
from metacross.adaptation.prediction import Prediction
from metacross.metrics.scoring import score
from metacross.model.encoder import load_encoder, weights_digest
from metacross.study.plan import SystemRun, Target
from metacross.study.results import (
    Mode,
    Result,
    SentencePredictions,
    StudyFolder,
    TrainingSummary,
    counts_of,
)
from metacross.study.target_curves import TargetCurves
from metacross.text.sentence import Corpus
from metacross.training.loop import Callback
from metacross.training.run_folder import AFTER_TRAINING, RunFolder, corpus_digest
from metacross.training.train import fine_tune_model, train_model

_STRETCHES = 40  # points of a learning curve


class StudyCallback(Callback, Protocol):
    """Is told how a study goes."""

    def on_system_begin(self, system_run: SystemRun) -> None:
        """The next system is taken up."""

    def scoring(self, what: str, n_done: int, n_all: int) -> None:
        """Sentences of a target are labeled."""

    def on_result(self, planned: Result) -> None:
        """A result is there."""


@dataclass(frozen=True, slots=True)
class PlannedResult:
    """A result to be had."""

    system_run: SystemRun
    target: Target
    fraction: float
    digests: Mapping[str, str]

    @property
    def key(self) -> str:
        """As in the results."""
        return self.system_run.key(self.digests, self.fraction)


def plan_results(system_runs: Sequence[SystemRun]) -> list[PlannedResult]:
    """All planned_results of a study in their order."""
    planned_results = []
    known: dict[int, str] = {}  # each corpus is in many system_runs

    def digest(corpus: Corpus) -> str:
        if id(corpus) not in known:
            known[id(corpus)] = corpus_digest(corpus)
        return known[id(corpus)]

    for system_run in system_runs:
        encoder = {"encoder": _encoder_digest(system_run.settings.encoder.name)}
        for target, fraction in system_run.parts:
            digests = {what: digest(corpus) for what, corpus in system_run.corpora(target).items()}
            planned_results.append(PlannedResult(system_run, target, fraction, digests | encoder))
    return planned_results


@cache
def _encoder_digest(name: str) -> str:
    return weights_digest(load_encoder(name).network)


def run_system(
    system_run: SystemRun,
    planned_results: Sequence[PlannedResult],
    folder: StudyFolder,
    callback: StudyCallback,
    *,
    curve_sentences: int,
) -> None:
    """Train a system, unless that is done, and score it in its planned_results that are not done."""
    done = folder.done()
    missing = [planned for planned in planned_results if planned.key not in done]
    if not missing:
        return
    callback.on_system_begin(system_run)
    run_folder = folder.runs / system_run.folder
    probe = TargetCurves(
        system_run.targets, run_folder / "training" / "targets.jsonl", curve_sentences
    )
    model = train_model(
        system_run.source,
        system_run.dev,
        system_run.training,
        run_folder,
        dev_score=f1_on(system_run.dev),
        callbacks=[callback, probe],
        also=probe.look,
    )
    if system_run.settings != system_run.training:
        model = _loaded(system_run, run_folder)
    facts = _facts(RunFolder(run_folder), probe)
    for planned in missing:
        began = time.monotonic()
        own = model if planned.fraction == 0 else _fine_tuned(planned, run_folder, callback)
        modes, sentences = _labeled(own, planned, callback)
        seconds = time.monotonic() - began
        folder.add_corpus(planned.digests["source corpus"], system_run.source)
        folder.add_corpus(planned.digests["target corpus"], planned.target.corpus)
        result = _cell(planned, modes, facts, seconds)
        folder.add(result, sentences)
        callback.on_result(result)


def _fine_tuned(planned: PlannedResult, run_folder: Path, callback: Callback) -> NerModel:
    train = planned.target.train
    if train is None:
        raise ValueError("a fraction of a corpus that is not there")
    n_sentences = max(1, round(planned.fraction * len(train)))
    system_run = planned.system_run
    prefix = "" if system_run.system == system_run.trained_as else f"{system_run.system}-"
    output = run_folder / f"{prefix}{planned.target.name}-{100 * planned.fraction:g}"
    return fine_tune_model(
        _loaded(system_run, run_folder),
        train,
        output,
        n_sentences=n_sentences,
        seed=planned.system_run.seed,
        callbacks=[callback],
    )


def _loaded(system_run: SystemRun, run_folder: Path) -> NerModel:
    """The model of a training, with the system_run's own settings of what comes after it."""
    values = system_run.settings.model_dump(mode="json")
    own = [
        f"{section}.{key}={json.dumps(value)}"
        for section in AFTER_TRAINING
        for key, value in values[section].items()
    ]
    return load(run_folder, device=system_run.settings.run.device, settings=own)


def _labeled(
    model: NerModel, planned: PlannedResult, callback: StudyCallback
) -> tuple[dict[Mode, Any], list[SentencePredictions]]:
    """The counts and the spans of each mode."""
    corpus = planned.target.corpus
    wanted: list[Mode] = ["plain", "adapted"] if model.adapts else ["plain"]
    found: dict[Mode, list[Prediction]] = {}
    for mode in wanted:

        def progress(n_done: int, mode: Mode = mode) -> None:
            callback.scoring(f"{planned.target.name}, {mode}", n_done, len(corpus))

        adapt = mode == "adapted"
        found[mode] = list(model.predict_all(corpus, adapt=adapt, progress=progress))
    modes = {
        mode: counts_of(score(corpus, Corpus(tuple(own.labeled for own in predictions))))
        for mode, predictions in found.items()
    }
    sentences = [
        SentencePredictions(
            spans={mode: found[mode][i].spans for mode in wanted},
            neighbors=tuple((n.position, n.similarity) for n in found[wanted[-1]][i].neighbors),
        )
        for i in range(len(corpus))
    ]
    return modes, sentences


def _cell(
    planned: PlannedResult, modes: Mapping[Mode, Any], facts: TrainingSummary, seconds: float
) -> Result:
    packages = ("metacross", "torch", "transformers", "tokenizers", "numpy")
    return Result(
        key=planned.key,
        system=planned.system_run.system,
        seed=planned.system_run.seed,
        target=planned.target.name,
        fraction=planned.fraction,
        labels=planned.system_run.labels,
        reported_mode="adapted" if "adapted" in modes else "plain",
        modes=dict(modes),
        training=facts,
        seconds=round(seconds, 1),
        digests=dict(planned.digests),
        versions={name: version(name) for name in packages},
        machine=f"{platform.system()} {platform.machine()}",
        recipe=planned.system_run.settings.model_dump(mode="json"),
    )


def _facts(run_folder: RunFolder, probe: TargetCurves) -> TrainingSummary:
    record = json.loads(run_folder.record.read_text(encoding="utf-8"))
    log = [json.loads(line) for line in run_folder.log.read_text(encoding="utf-8").splitlines()]
    losses = [(line["step"], line["loss"]) for line in log if "loss" in line]
    return TrainingSummary(
        folder=run_folder.folder.name,
        seconds=record["seconds"],
        best_step=record["best_step"],
        validations=tuple((step, f1) for step, f1 in record["validations"]),
        target_validations=probe.found(),
        losses=_stretched(losses),
    )


def _stretched(losses: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Means over stretches of about equal length; what is no number is left out."""
    losses = [(step, loss) for step, loss in losses if math.isfinite(loss)]
    size = max(1, -(-len(losses) // _STRETCHES))
    parts = [losses[start : start + size] for start in range(0, len(losses), size)]
    return tuple(
        (part[-1][0], round(sum(loss for _, loss in part) / len(part), 4)) for part in parts
    )
