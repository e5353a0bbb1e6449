"""One step of the student towards the teacher's targets."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.model.encoder import last_states
from metacross.model.mini_encoder import MiniModel
from metacross.training.loop import Step, StepResult
from tools.mini_encoder.recipe import DistillationSettings
from tools.mini_encoder.targets import Guide, Spread, Targets
from tools.mini_encoder.text_stream import PAD, TextBatch, TextStream
from tools.mini_encoder.word_masking import WordMasker


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a student learns from: the text, the teacher, and how its outputs vary."""

    stream: TextStream
    masker: WordMasker
    guide: Guide
    spread: Spread


def distillation_step(
    student: MiniModel, lesson: Lesson, settings: DistillationSettings, adam: Adam
) -> Step:
    """A step of the optimizer on a batch of the stream; ``adam`` holds all weights in order."""
    weights = list(student.parameters())
    run = settings.run

    def step(number: int) -> StepResult:
        batch = lesson.stream.batch(number)
        targets = lesson.guide.targets(batch, lesson.spread)
        shown, hidden = lesson.masker.masked(batch.shown, run.seed, number)
        states = last_states(student, shown, (shown != PAD).long())  # (rows, pieces, width)
        piece_weights = torch.where(hidden, settings.masking.weight, 1.0)
        tokens, vectors = distances(states, targets, batch, lesson.spread, piece_weights)
        loss = tokens + settings.target.sentence_weight * vectors
        factor = learning_rate_factor(settings.schedule, number, run.steps)
        adam.step(torch.autograd.grad(loss, weights), run.rate * factor)
        return StepResult(loss=loss.item(), n_items=len(shown))

    return step


def distances(
    states: Tensor, targets: Targets, batch: TextBatch, spread: Spread, piece_weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean squared distances in deviations, of the pieces' states and of the sentence vectors.

    *Shape:* states (rows, shown pieces, any width from the teacher's on), piece_weights (rows,
    shown pieces), results ().
    """
    width = targets.vectors.shape[-1]
    index = batch.aligned.unsqueeze(-1).expand(-1, -1, width)
    apart = (states[..., :width] - targets.states.gather(1, index)) / spread.state
    weights = piece_weights * (batch.shown != PAD)  # (rows, shown pieces)
    weights[:, 0] = 0.0  # the sentence vector stands there
    tokens = (apart.square().mean(-1) * weights).sum() / weights.sum().clamp_min(1e-6)
    vectors = (states[:, 0, :width] - targets.vectors) / spread.vector  # (rows, width)
    return tokens, vectors.square().mean()
