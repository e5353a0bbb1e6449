"""What the teacher wants the student to compute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tools.mini_encoder.recipe import TargetSettings
from tools.mini_encoder.teacher import Teacher
from tools.mini_encoder.text_stream import PAD, TextBatch


@dataclass(frozen=True, slots=True)
class Targets:
    """States by position in the teacher's text, and sentence vectors.

    *Shape:* states (rows, plain pieces, width), vectors (rows, width).
    """

    states: Tensor
    vectors: Tensor


@dataclass(frozen=True, slots=True)
class Spread:
    """How the teacher's outputs vary, column by column. *Shape:* all (width,)."""

    state_mean: Tensor
    state: Tensor
    vector: Tensor

    def tensors(self) -> dict[str, Tensor]:
        """All of it by name, to be kept."""
        return {"state_mean": self.state_mean, "state": self.state, "vector": self.vector}


class Guide:
    """The teacher behind the student's piece ids."""

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
    def targets(self, batch: TextBatch, spread: Spread) -> Targets:
        """The outputs, those for a translation drawn towards those for the English sentence.

        Words answer each other where each is the most like of the other's sentence.
        """
        own = self.outputs(batch)
        if not batch.paired:
            return own
        likeness = _likeness(own.states, batch.plain != PAD, spread)
        best, there = likeness.max(2)  # both (pairs, English pieces)
        back = likeness.argmax(1).gather(1, there)  # (pairs, English pieces)
        mutual = back == torch.arange(back.shape[1])
        pair, here = torch.nonzero(mutual & (best > self._settings.pair_likeness), as_tuple=True)
        partner = there[pair, here]  # (answering words,)
        pull = self._settings.pair_pull
        states, vectors = own.states.clone(), own.vectors.clone()
        states[2 * pair + 1, partner] = torch.lerp(
            own.states[2 * pair + 1, partner], own.states[2 * pair, here], pull
        )
        vectors[1::2] = torch.lerp(vectors[1::2], vectors[0::2], pull)
        return Targets(states, vectors)

    def spread(self, batches: Iterable[TextBatch]) -> Spread:
        """Means and deviations over some batches."""
        states, vectors = [], []
        for batch in batches:
            own = self.outputs(batch)
            states.append(own.states[batch.plain != PAD])  # (pieces, width)
            vectors.append(own.vectors)
        together = torch.cat(states)
        return Spread(together.mean(0), _deviation(together), _deviation(torch.cat(vectors)))


def _likeness(states: Tensor, present: Tensor, spread: Spread) -> Tensor:
    """Cosines of English and translated pieces; -1 where one is special or padding.

    *Shape:* (pairs, English pieces, translated pieces).
    """
    scaled = nn.functional.normalize((states - spread.state_mean) / spread.state, dim=-1)
    likeness = scaled[0::2] @ scaled[1::2].transpose(1, 2)
    both = present[0::2].unsqueeze(2) & present[1::2].unsqueeze(1)
    likeness = likeness.masked_fill(~both, -1.0)
    likeness[:, 0] = -1.0
    likeness[:, :, 0] = -1.0
    return likeness


def _deviation(rows: Tensor) -> Tensor:
    """A column that never changes weighs as if it did a little, rather than without end."""
    return rows.std(0, correction=0).clamp_min(1e-6)
