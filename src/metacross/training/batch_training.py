"""Ordinary training in mini-batches: direct transfer, and fine-tuning on target text."""

from __future__ import annotations

from collections.abc import Sequence

from metacross.adaptation.optimizers import Adam, rate_factor
from metacross.adaptation.textbook import dropping_out, gradients
from metacross.model.devices import seeded
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.training.loop import Step, StepResult
from metacross.training.masking import EpochMasker
from metacross.training.sampling import Sampler


def mini_batch_step(
    tagger: Tagger, examples: Sequence[Example], settings: Settings, adam: Adam
) -> Step:
    """One step of the optimiser on a mini-batch (``settings.direct``)."""
    direct, seed = settings.direct, settings.run.seed
    sampler = Sampler(len(examples), direct.batch, seed)
    masker = EpochMasker(tagger, examples, settings)

    def step(number: int) -> StepResult:
        factor = rate_factor(settings.schedule, number, direct.steps)
        batch = tagger.batch([masker.query(draw) for draw in sampler.draws(number)])
        with dropping_out(tagger, True), seeded(seed, number):
            loss = tagger.loss(batch, max_weight=settings.loss.max_weight)
            adam.step(gradients(loss, tagger), direct.rate * factor)
        return StepResult(loss=loss.item(), n_items=batch.n_sentences)

    return step


def fine_tuning_settings(settings: Settings, n_sentences: int) -> Settings:
    """The settings of a model, turned to fine-tuning on so many sentences: whole epochs, with
    neither masking nor max loss.
    """
    tuning = settings.fine_tuning
    batch = min(tuning.batch, n_sentences)
    steps = max(1, round(tuning.epochs * n_sentences / batch))
    values = settings.model_dump()
    values["direct"] = {"steps": steps, "batch": batch, "rate": tuning.rate}
    values["masking"]["ratio"] = 0.0
    values["loss"]["max_weight"] = 0.0
    values["run"] |= {"method": "direct", "validate_every": steps, "checkpoint_every": steps}
    return Settings.model_validate(values)
