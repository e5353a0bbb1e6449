"""Computes the outputs of the teacher that the student learns to reproduce."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tools.mini_encoder.settings import TargetSettings
from tools.mini_encoder.teacher import Teacher
from tools.mini_encoder.text_stream import PAD, TextBatch


@dataclass(frozen=True, slots=True)
class Targets:
    """States of the pieces of the teacher's text, and sentence vectors.

    *Shape:* states (rows, plain pieces, width), vectors (rows, width).
    """

    states: Tensor
    vectors: Tensor


@dataclass(frozen=True, slots=True)
class OutputStatistics:
    """Mean and standard deviation of the teacher's outputs by column. *Shape:* all (width,)."""

    state_mean: Tensor
    state_std: Tensor
    vector_std: Tensor


class TargetBuilder:
    """Runs the teacher on batches of the student's piece ids.

    ``teacher_ids`` maps the student's piece ids to the teacher's. *Shape:* (student pieces,).
    """

    def __init__(self, teacher: Teacher, teacher_ids: Tensor, settings: TargetSettings) -> None:
        self._teacher = teacher
        self._teacher_ids = teacher_ids
        self._settings = settings

    @torch.no_grad()
    def outputs(self, batch: TextBatch) -> Targets:
        """What the teacher computes for its text."""
        states, vectors = self._teacher(self._teacher_ids[batch.plain], batch.plain != PAD)
        return Targets(states, vectors)

    @torch.no_grad()
    def targets(self, batch: TextBatch, statistics: OutputStatistics) -> Targets:
        """The outputs; in a parallel batch those of a translation move towards the English ones.

        Two words are translations of each other where each is the most similar word to the other.
        """
        outputs = self.outputs(batch)
        if not batch.is_parallel:
            return outputs
        similarity = _similarity(outputs.states, batch.plain != PAD, statistics)
        highest, best_translation = similarity.max(2)  # both (pairs, English pieces)
        best_english = similarity.argmax(1).gather(1, best_translation)  # (pairs, English pieces)
        is_mutual = best_english == torch.arange(best_english.shape[1])
        is_matched = is_mutual & (highest > self._settings.min_similarity)
        pair, english = torch.nonzero(is_matched, as_tuple=True)  # both (matched words,)
        translated = best_translation[pair, english]  # (matched words,)
        pull = self._settings.translation_pull
        states, vectors = outputs.states.clone(), outputs.vectors.clone()
        states[2 * pair + 1, translated] = torch.lerp(
            outputs.states[2 * pair + 1, translated], outputs.states[2 * pair, english], pull
        )
        vectors[1::2] = torch.lerp(vectors[1::2], vectors[0::2], pull)
        return Targets(states, vectors)

    def statistics(self, batches: Iterable[TextBatch]) -> OutputStatistics:
        """Statistics of the outputs for some batches."""
        state_rows, vector_rows = [], []
        for batch in batches:
            outputs = self.outputs(batch)
            state_rows.append(outputs.states[batch.plain != PAD])  # (pieces, width)
            vector_rows.append(outputs.vectors)
        states, vectors = torch.cat(state_rows), torch.cat(vector_rows)
        return OutputStatistics(states.mean(0), _std(states), _std(vectors))


def _similarity(states: Tensor, is_piece: Tensor, statistics: OutputStatistics) -> Tensor:
    """Cosines of English and translated pieces; -1 for [CLS] and padding.

    *Shape:* states (rows, pieces, width), is_piece (rows, pieces), result (pairs, English pieces,
    translated pieces).
    """
    scaled = (states - statistics.state_mean) / statistics.state_std
    normalized = nn.functional.normalize(scaled, dim=-1)
    similarity = normalized[0::2] @ normalized[1::2].transpose(1, 2)
    both = is_piece[0::2].unsqueeze(2) & is_piece[1::2].unsqueeze(1)
    similarity = similarity.masked_fill(~both, -1.0)
    similarity[:, 0] = -1.0
    similarity[:, :, 0] = -1.0
    return similarity


def _std(rows: Tensor) -> Tensor:
    """The standard deviation of each column, above zero so that it can divide."""
    return rows.std(0, correction=0).clamp_min(1e-6)
