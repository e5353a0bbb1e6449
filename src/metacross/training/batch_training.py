"""Ordinary training in mini-batches: direct transfer and fine-tuning."""

from __future__ import annotations

from collections.abc import Sequence

from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.adaptation.textbook import dropout, gradients
from metacross.model.devices import seeded
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.training.loop import Step, StepResult
from metacross.training.masking import EpochMasker
from metacross.training.sampling import Sampler


def mini_batch_step(
    tagger: Tagger, examples: Sequence[Example], settings: Settings, adam: Adam
) -> Step:
    """One step of the optimizer on a mini-batch (``settings.direct``)."""
    direct, seed = settings.direct, settings.run.seed
    sampler = Sampler(len(examples), direct.batch_size, seed)
    masker = EpochMasker(tagger, examples, settings)

    def step(number: int) -> StepResult:
        factor = learning_rate_factor(settings.schedule, number, direct.steps)
        batch = tagger.batch([masker.query(draw) for draw in sampler.draws(number)])
        with dropout(tagger, enabled=True), seeded(seed, number):
            loss = tagger.loss(batch, max_weight=settings.loss.max_weight)
            adam.step(gradients(loss, tagger), direct.learning_rate * factor)
        return StepResult(loss=loss.item(), n_items=batch.n_sentences)

    return step


def fine_tuning_settings(settings: Settings, n_sentences: int) -> Settings:
    """The settings of a model, changed to fine-tuning on ``n_sentences``: full epochs, without
    masking and max loss.
    """
    tuning = settings.fine_tuning
    batch_size = min(tuning.batch_size, n_sentences)
    steps = max(1, round(tuning.epochs * n_sentences / batch_size))
    values = settings.model_dump()
    values["direct"] = {
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": tuning.learning_rate,
    }
    values["masking"]["ratio"] = 0.0
    values["loss"]["max_weight"] = 0.0
    values["run"] |= {"method": "direct", "validate_every": steps, "checkpoint_every": steps}
    return Settings.model_validate(values)
