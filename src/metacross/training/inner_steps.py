"""The meta-gradients of tasks, one after another, faster than the textbook loop.

As in the fast engine a gradient is computed from recorded inputs and output gradients, tile by
tile, and applied to the task's weights at once: there is no autograd graph of the weights and no
optimizer per task. The task's weights have separate storage, to which the tagger points during the
task, so nothing needs to be restored. The query's gradient is added directly to the sum.
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

_TILE = 2_097_152  # elements of a gradient computed at once


def can_learn_fast(tagger: Tagger) -> bool:
    """Whether the fast learner supports a tagger."""
    return untraceable_weight(tagger) is None and tagger.precision == "float32"


class FastLearner:
    """Computes the same meta-gradients as the textbook loop; see the module docstring."""

    def __init__(self, tagger: Tagger, settings: Settings) -> None:
        self._tagger = tagger
        self._n_steps = settings.meta.inner_steps
        self._max_weight = settings.loss.max_weight
        self._recorder = GradientRecorder(tagger)
        self._adam = FreshAdam(settings.optimizer)
        self._original = {name: weight.data for name, weight in tagger.trainable.items()}
        self._task, self._total = self._like_weights(), self._like_weights()
        self._earlier = [self._like_weights() for _ in range(self._n_steps - 1)]
        self._last = torch.empty(
            max(_TILE, *map(_width, self._original.values())), device=tagger.device
        )

    def _like_weights(self) -> dict[str, Tensor]:
        return {name: torch.empty_like(weight) for name, weight in self._original.items()}

    @property
    def total(self) -> list[Tensor]:
        """The sum of the query gradients since the block was entered."""
        return list(self._total.values())

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """The tasks of one meta-step; after the block the tagger has its original weights."""
        torch._foreach_zero_(self.total)
        torch._foreach_copy_(list(self._task.values()), list(self._original.values()))
        try:
            with self._recorder.recording():
                yield
        finally:
            self._point_to(self._original)

    def _point_to(self, weights: Mapping[str, Tensor]) -> None:
        for name, weight in self._tagger.trainable.items():
            weight.data = weights[name]

    @torch.no_grad()
    def learn(self, support: Sequence[Example], query: Example, *, learning_rate: float) -> float:
        """Adapt to a support and add the query's gradient to the total; returns its loss."""
        self._point_to(self._original)
        for number in range(self._n_steps):
            trace = self._recorder.record(support, max_weight=self._max_weight)
            before = self._task if number else self._original
            for name in (*trace.vectors, *trace.matrix_names):
                self._change(name, trace, before[name], number, learning_rate)
            self._point_to(self._task)
        trace = self._recorder.record([query], max_weight=self._max_weight)
        for name in trace.matrix_names:
            inputs, deltas = trace.matrix(name)
            self._total[name].addmm_(deltas.T, inputs)
        for name, gradient in trace.vectors.items():
            self._total[name].add_(gradient[0])
        return float(trace.losses)

    def _change(
        self, name: str, trace: LayerTrace, before: Tensor, number: int, learning_rate: float
    ) -> None:
        """Compute a weight of the task after a step from its value before."""
        task, clip_norm = self._task[name], self._adam.settings.clip_norm
        if name in trace.vectors:
            rows = slice(0, len(task))
            gradients = self._gradients(name, number, rows)
            gradients[-1].copy_(clipped(trace.vectors[name].mean(dim=0), clip_norm))
            self._adam.step(before, gradients, learning_rate, out=task, decays=False)
            return
        inputs, deltas = trace.matrix(name)
        deltas = deltas / (len(trace.ends) - 1)
        clip_deltas(inputs, deltas, clip_norm)
        n_rows = max(1, _TILE // inputs.shape[1])
        for start in range(0, len(task), n_rows):
            rows = slice(start, min(start + n_rows, len(task)))
            gradients = self._gradients(name, number, rows)
            torch.mm(deltas[:, rows].T, inputs, out=gradients[-1])
            self._adam.step(before[rows], gradients, learning_rate, out=task[rows], decays=True)

    def _gradients(self, name: str, number: int, rows: slice) -> list[Tensor]:
        """Storage for the gradients of the steps so far; that of the last step is reused."""
        earlier = [gradients[name][rows] for gradients in self._earlier[: number + 1]]
        if number < len(self._earlier):
            return earlier
        shape = self._task[name][rows].shape
        return [*earlier, self._last[: shape.numel()].view(shape)]


def _width(weight: Tensor) -> int:
    return weight.shape[-1]
