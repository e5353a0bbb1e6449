"""Runs the loop of a training and saves the model with its best weights."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

from metacross.adaptation.ner_model import NerModel
from metacross.model.model_folder import ModelParts, save_model
from metacross.model.ranks import ALONE, Ranks
from metacross.model.tagger import Example
from metacross.model.training_facts import TrainingFacts
from metacross.training.callbacks import Callback, JsonLog
from metacross.training.checkpoints import (
    Checkpoints,
    History,
    TrainingState,
    load_weights,
    read_tensors,
)
from metacross.training.loop import LoopSettings, Step, run
from metacross.training.run_folder import RunFolder, package_versions


def run_and_save(
    parts: ModelParts,
    examples: Sequence[Example],
    step: Step,
    state: TrainingState,
    run_folder: RunFolder,
    validate: Callable[[], float] | None,
    callbacks: Sequence[Callback],
    ranks: Ranks = ALONE,
) -> NerModel:
    """Run the training loop, take the best weights, save the model."""
    settings = parts.settings
    meta, direct = settings.meta, settings.direct
    loop = LoopSettings(
        steps=meta.steps if settings.run.method == "meta" else direct.steps,
        validate_every=settings.run.validate_every,
        checkpoint_every=settings.run.checkpoint_every,
    )
    checkpoints = Checkpoints(run_folder.training, writes=ranks.is_first)
    memory_bytes = 2**20 * settings.run.frozen_cache_mb
    with run_folder.locked() if ranks.is_first else nullcontext():
        log = [JsonLog(run_folder.log)] if ranks.is_first else []
        with parts.tagger.frozen_cache(examples, memory_bytes=memory_bytes):
            history = run(
                step,
                state,
                loop,
                checkpoints=checkpoints,
                validate=validate,
                callbacks=[*log, *callbacks],
                ranks=ranks,
            )
        ranks.wait()  # until the best weights are written
        load_weights(parts.tagger.trainable, read_tensors(checkpoints.best))
        parts = replace(parts, facts=parts.facts and _with_outcome(parts.facts, history))
        if ranks.is_first:
            run_folder.finish(history)
            save_model(parts, run_folder.folder)
        ranks.wait()
    return NerModel(parts)


def _with_outcome(facts: TrainingFacts, history: History) -> TrainingFacts:
    outcome = {
        "dev_f1": history.best_f1,
        "seconds": round(history.seconds, 1),
        "versions": package_versions(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
    return facts.model_copy(update=outcome)
