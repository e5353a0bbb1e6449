"""Finds the meta-gradients of one task after another, fast.

As in the engine a gradient is made out of what the layers saw, a tile of it at a time, and goes
into the weights of the task at once: there is no graph of the weights and no optimizer for each
task. These weights have a place of their own, to which the tagger points while the task lasts, so
that nothing is restored. The query's gradient goes straight into the sum.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from metacross.adaptation.gradient_recorder import (
    GradientRecorder,
    LayerTrace,
    clip_deltas,
    untraceable_weight,
)
from metacross.adaptation.optimizers import FreshAdam, clipped
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings

_TILE = 2_097_152  # numbers of a gradient made at once


def can_learn_fast(tagger: Tagger) -> bool:
    """Whether all of a tagger's gradients can be made that way."""
    return untraceable_weight(tagger) is None and tagger.precision == "float32"


class FastLearner:
    """Finds meta-gradients as the textbook loop would; see the module's first lines."""

    def __init__(self, tagger: Tagger, settings: Settings) -> None:
        self._tagger = tagger
        self._n_steps = settings.meta.inner_steps
        self._max_weight = settings.loss.max_weight
        self._recorder = GradientRecorder(tagger)
        self._adam = FreshAdam(settings.optimizer)
        self._own = {name: weight.data for name, weight in tagger.trainable.items()}
        self._task, self._total = self._like_weights(), self._like_weights()
        self._earlier = [self._like_weights() for _ in range(self._n_steps - 1)]
        self._last = torch.empty(max(_TILE, *map(_width, self._own.values())), device=tagger.device)

    def _like_weights(self) -> dict[str, Tensor]:
        return {name: torch.empty_like(own) for name, own in self._own.items()}

    @property
    def total(self) -> list[Tensor]:
        """The sum of the query gradients since the block was entered."""
        return list(self._total.values())

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Tasks of one meta-step belong in one block; after it the tagger has its own weights."""
        torch._foreach_zero_(self.total)
        torch._foreach_copy_(list(self._task.values()), list(self._own.values()))
        try:
            with self._recorder.recording():
                yield
        finally:
            self._point_to(self._own)

    def _point_to(self, weights: Mapping[str, Tensor]) -> None:
        for name, weight in self._tagger.trainable.items():
            weight.data = weights[name]

    @torch.no_grad()
    def learn(self, support: Sequence[Example], query: Example, *, learning_rate: float) -> float:
        """Adapt to a support, and add the query's gradient there to the total; its loss."""
        self._point_to(self._own)
        for number in range(self._n_steps):
            trace = self._recorder.record(support, max_weight=self._max_weight)
            before = self._task if number else self._own
            for name in (*trace.vectors, *trace.matrices):
                self._change(name, trace, before[name], number, learning_rate)
            self._point_to(self._task)
        trace = self._recorder.record([query], max_weight=self._max_weight)
        for name, (inputs, deltas) in trace.matrices.items():
            self._total[name].addmm_(deltas.T, inputs)
        for name, gradient in trace.vectors.items():
            self._total[name].add_(gradient[0])
        return float(trace.losses)

    def _change(
        self, name: str, trace: LayerTrace, before: Tensor, number: int, learning_rate: float
    ) -> None:
        """Make a weight of the task after a step, from its value before."""
        task, clip_norm = self._task[name], self._adam.settings.clip_norm
        if name in trace.vectors:
            rows = slice(0, len(task))
            gradients = self._gradients(name, number, rows)
            gradients[-1].copy_(clipped(trace.vectors[name].mean(dim=0), clip_norm))
            self._adam.step(before, gradients, learning_rate, out=task, decays=False)
            return
        inputs, deltas = trace.matrices[name]
        deltas = deltas / (len(trace.ends) - 1)
        clip_deltas(inputs, deltas, clip_norm)
        n_rows = max(1, _TILE // inputs.shape[1])
        for start in range(0, len(task), n_rows):
            rows = slice(start, min(start + n_rows, len(task)))
            gradients = self._gradients(name, number, rows)
            torch.mm(deltas[:, rows].T, inputs, out=gradients[-1])
            self._adam.step(before[rows], gradients, learning_rate, out=task[rows], decays=True)

    def _gradients(self, name: str, number: int, rows: slice) -> list[Tensor]:
        """Where the gradients of the steps so far lie; that of the last step is not kept."""
        kept = [own[name][rows] for own in self._earlier[: number + 1]]
        if number < len(self._earlier):
            return kept
        shape = self._task[name][rows].shape
        return [*kept, self._last[: shape.numel()].view(shape)]


def _width(weight: Tensor) -> int:
    return weight.shape[-1]
