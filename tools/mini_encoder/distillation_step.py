"""One training step of the student."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.model.encoder import last_states
from metacross.model.mini_encoder import MiniModel
from metacross.training.loop import Step, StepResult
from tools.mini_encoder.settings import DistillationSettings
from tools.mini_encoder.targets import OutputStatistics, TargetBuilder, Targets
from tools.mini_encoder.text_stream import PAD, TextBatch, TextStream
from tools.mini_encoder.word_masking import WordMasker


@dataclass(frozen=True, slots=True)
class DistillationData:
    """What the student learns from: the text, the masking, and the teacher's outputs."""

    stream: TextStream
    masker: WordMasker
    target_builder: TargetBuilder
    statistics: OutputStatistics


def distillation_step(
    student: MiniModel, data: DistillationData, settings: DistillationSettings, adam: Adam
) -> Step:
    """One step of the optimizer on one batch; ``adam`` holds all weights in order."""
    weights = list(student.parameters())
    run = settings.run

    def step(number: int) -> StepResult:
        batch = data.stream.batch(number)
        targets = data.target_builder.targets(batch, data.statistics)
        piece_ids, is_masked = data.masker.masked(batch.augmented, run.seed, number)
        states = last_states(student, piece_ids, (piece_ids != PAD).long())  # (rows, pieces, width)
        piece_weights = torch.where(is_masked, settings.masking.weight, 1.0)
        state_loss, vector_loss = losses(states, targets, batch, data.statistics, piece_weights)
        loss = state_loss + settings.target.sentence_weight * vector_loss
        factor = learning_rate_factor(settings.schedule, number, run.steps)
        adam.step(torch.autograd.grad(loss, weights), run.learning_rate * factor)
        return StepResult(loss=loss.item(), n_items=len(piece_ids))

    return step


def losses(
    states: Tensor,
    targets: Targets,
    batch: TextBatch,
    statistics: OutputStatistics,
    piece_weights: Tensor,
) -> tuple[Tensor, Tensor]:
    """Mean squared errors of the pieces' states and of the sentence vectors, in units of the
    teacher's standard deviations.

    *Shape:* states (rows, augmented pieces, at least the teacher's width), piece_weights (rows,
    augmented pieces), results ().
    """
    width = targets.vectors.shape[-1]
    index = batch.alignment.unsqueeze(-1).expand(-1, -1, width)
    errors = (states[..., :width] - targets.states.gather(1, index)) / statistics.state_std
    weights = piece_weights * (batch.augmented != PAD)  # (rows, augmented pieces)
    weights[:, 0] = 0.0  # position 0 holds the sentence vector
    state_loss = (errors.square().mean(-1) * weights).sum() / weights.sum().clamp_min(1e-6)
    vector_errors = states[:, 0, :width] - targets.vectors  # (rows, width)
    return state_loss, (vector_errors / statistics.vector_std).square().mean()
