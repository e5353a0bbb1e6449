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
from metacross.adaptation.ner_model import Recogniser, load
from metacross.adaptation.prediction import Prediction
from metacross.metrics.scoring import score
from metacross.model.encoder import fingerprint, load_encoder
from metacross.study.plan import Target, Unit, setting_name
from metacross.study.results import (
    Cell,
    LabelledSentence,
    Reading,
    StudyFolder,
    TrainingFacts,
    counts_of,
)
from metacross.study.target_curves import TargetProbe
from metacross.text.sentence import Corpus
from metacross.training.loop import Watcher
from metacross.training.run_folder import AFTER_TRAINING, RunFolder, corpus_digest
from metacross.training.train import fine_tune_model, train_model

_STRETCHES = 40  # points of a learning curve


class StudyWatcher(Watcher, Protocol):
    """Is told how a study goes."""

    def unit_begun(self, unit: Unit) -> None:
        """The next system is taken up."""

    def scoring(self, what: str, n_done: int, n_all: int) -> None:
        """Sentences of a target are labelled."""

    def cell_done(self, cell: Cell) -> None:
        """A result is there."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A result to be had."""

    unit: Unit
    target: Target
    share: float
    digests: Mapping[str, str]

    @property
    def setting(self) -> str:
        """As in the results."""
        return setting_name(self.share)

    @property
    def key(self) -> str:
        """As in the results."""
        return self.unit.key(self.digests, self.setting)


def planned(units: Sequence[Unit]) -> list[PlannedCell]:
    """All cells of a study in their order."""
    cells = []
    known: dict[int, str] = {}  # each corpus is in many units

    def digest(corpus: Corpus) -> str:
        if id(corpus) not in known:
            known[id(corpus)] = corpus_digest(corpus)
        return known[id(corpus)]

    for unit in units:
        encoder = {"encoder": _encoder_digest(unit.settings.encoder.name)}
        for target, share in unit.parts:
            digests = {what: digest(corpus) for what, corpus in unit.corpora(target).items()}
            cells.append(PlannedCell(unit, target, share, digests | encoder))
    return cells


@cache
def _encoder_digest(name: str) -> str:
    return fingerprint(load_encoder(name).network)


def run_unit(
    unit: Unit,
    cells: Sequence[PlannedCell],
    folder: StudyFolder,
    watcher: StudyWatcher,
    *,
    probe_sentences: int,
) -> None:
    """Train a system, unless that is done, and score it in its cells that are not done."""
    done = folder.done()
    missing = [cell for cell in cells if cell.key not in done]
    if not missing:
        return
    watcher.unit_begun(unit)
    run_folder = folder.runs / unit.folder
    probe = TargetProbe(unit.targets, run_folder / "training" / "targets.jsonl", probe_sentences)
    model = train_model(
        unit.source,
        unit.dev,
        unit.training,
        run_folder,
        dev_score=f1_on(unit.dev),
        watchers=[watcher, probe],
        also=probe.look,
    )
    if unit.settings != unit.training:
        model = _loaded(unit, run_folder)
    facts = _facts(RunFolder(run_folder), probe)
    for cell in missing:
        began = time.monotonic()
        own = model if cell.share == 0 else _fine_tuned(cell, run_folder, watcher)
        readings, sentences = _labelled(own, cell, watcher)
        seconds = time.monotonic() - began
        folder.add_corpus(cell.digests["source corpus"], unit.source)
        folder.add_corpus(cell.digests["target corpus"], cell.target.corpus)
        result = _cell(cell, readings, facts, seconds)
        folder.add(result, sentences)
        watcher.cell_done(result)


def _fine_tuned(cell: PlannedCell, run_folder: Path, watcher: Watcher) -> Recogniser:
    train = cell.target.train
    if train is None:
        raise ValueError("a share of a corpus that is not there")
    n_sentences = max(1, round(cell.share * len(train)))
    unit = cell.unit
    prefix = "" if unit.system == unit.trained_as else f"{unit.system}-"
    output = run_folder / f"{prefix}{cell.target.name}-{cell.setting.rstrip('%')}"
    return fine_tune_model(
        _loaded(unit, run_folder),
        train,
        output,
        n_sentences=n_sentences,
        seed=cell.unit.seed,
        watchers=[watcher],
    )


def _loaded(unit: Unit, run_folder: Path) -> Recogniser:
    """The model of a training, with the unit's own settings of what comes after it."""
    values = unit.settings.model_dump(mode="json")
    own = [
        f"{section}.{key}={json.dumps(value)}"
        for section in AFTER_TRAINING
        for key, value in values[section].items()
    ]
    return load(run_folder, device=unit.settings.run.device, settings=own)


def _labelled(
    model: Recogniser, cell: PlannedCell, watcher: StudyWatcher
) -> tuple[dict[Reading, Any], list[LabelledSentence]]:
    """The counts and the spans of each reading."""
    corpus = cell.target.corpus
    wanted: list[Reading] = ["plain", "adapted"] if model.adapts else ["plain"]
    found: dict[Reading, list[Prediction]] = {}
    for reading in wanted:

        def progress(n_done: int, reading: Reading = reading) -> None:
            watcher.scoring(f"{cell.target.name}, {reading}", n_done, len(corpus))

        adapt = reading == "adapted"
        found[reading] = list(model.predict_all(corpus, adapt=adapt, progress=progress))
    readings = {
        reading: counts_of(score(corpus, Corpus(tuple(own.labelled for own in predictions))))
        for reading, predictions in found.items()
    }
    sentences = [
        LabelledSentence(
            spans={reading: found[reading][i].spans for reading in wanted},
            neighbours=tuple((n.position, n.similarity) for n in found[wanted[-1]][i].neighbours),
        )
        for i in range(len(corpus))
    ]
    return readings, sentences


def _cell(
    cell: PlannedCell, readings: Mapping[Reading, Any], facts: TrainingFacts, seconds: float
) -> Cell:
    packages = ("metacross", "torch", "transformers", "tokenizers", "numpy")
    return Cell(
        key=cell.key,
        system=cell.unit.system,
        seed=cell.unit.seed,
        target=cell.target.name,
        setting=cell.setting,
        types=cell.unit.types,
        headline="adapted" if "adapted" in readings else "plain",
        readings=dict(readings),
        training=facts,
        seconds=round(seconds, 1),
        digests=dict(cell.digests),
        versions={name: version(name) for name in packages},
        machine=f"{platform.system()} {platform.machine()}",
        recipe=cell.unit.settings.model_dump(mode="json"),
    )


def _facts(run_folder: RunFolder, probe: TargetProbe) -> TrainingFacts:
    record = json.loads(run_folder.record.read_text(encoding="utf-8"))
    log = [json.loads(line) for line in run_folder.log.read_text(encoding="utf-8").splitlines()]
    losses = [(line["step"], line["loss"]) for line in log if "loss" in line]
    return TrainingFacts(
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
