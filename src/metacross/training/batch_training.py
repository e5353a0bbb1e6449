"""Ordinary training in mini-batches: direct transfer and fine-tuning."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.adaptation.textbook import dropout, gradients
from metacross.model.batching import padding_groups
from metacross.model.devices import seeded
from metacross.model.ranks import ALONE, Ranks
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.training.blocks import LossSum, blocks_of, own_sum, total
from metacross.training.loop import Step, StepResult
from metacross.training.masking import EpochMasker
from metacross.training.sampling import Sampler


def mini_batch_step(
    tagger: Tagger,
    examples: Sequence[Example],
    settings: Settings,
    adam: Adam,
    ranks: Ranks = ALONE,
) -> Step:
    """One step of the optimizer on a mini-batch (``settings.direct``). Processes share out its
    sentences.
    """
    direct, seed, n_blocks = settings.direct, settings.run.seed, settings.run.blocks or 1
    sampler = Sampler(len(examples), direct.batch_size, seed)
    masker = EpochMasker(tagger, examples, settings)
    weights = list(tagger.trainable.values())

    def step(number: int) -> StepResult:
        factor = learning_rate_factor(settings.schedule, number, direct.steps)
        mini_batch = [masker.query(draw) for draw in sampler.draws(number)]
        blocks = blocks_of(mini_batch, [example.n_pieces for example in mini_batch], n_blocks)

        def of_block(block: int, sentences: Sequence[Example]) -> LossSum:
            seeds = (seed, number) if n_blocks == 1 else (seed, number, block)
            with seeded(*seeds):
                loss = mean_loss(tagger, sentences, max_weight=settings.loss.max_weight)
                loss = loss * (len(sentences) / len(mini_batch))
                return LossSum(loss.item(), gradients(loss, tagger))

        with dropout(tagger, enabled=True):
            own = own_sum(blocks, of_block, weights, ranks)
        mean = total(own, ranks)
        adam.step(mean.gradients, direct.learning_rate * factor)
        return StepResult(loss=mean.loss, n_items=len(mini_batch))

    return step


def mean_loss(tagger: Tagger, examples: Sequence[Example], *, max_weight: float) -> Tensor:
    """The mean of the sentences' losses. On a CPU, where padding costs as much as text, sentences
    of similar length go through the network together. *Shape:* ().
    """
    groups = [list(range(len(examples)))]
    if tagger.device.type == "cpu":
        groups = padding_groups([example.n_pieces for example in examples])
    losses = [
        tagger.loss(tagger.batch([examples[i] for i in group]), max_weight=max_weight) * len(group)
        for group in groups
    ]
    return torch.stack(losses).sum() / len(examples)


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
    values["run"] |= {"method": "direct", "validate_every": steps}
    values["run"]["blocks"] = None
    return Settings.model_validate(values)
