"""Takes the inner steps of one task after another, in place.

As in the engine a gradient is made out of what the layers saw, a tile of it at a time, and goes
into the weights at once: there is no whole gradient, no graph of the weights, and one optimiser
for all tasks. The query's gradient goes straight into the sum.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.transfer.adam import Adam, clipped
from metacross.transfer.recording import Recorder, clip_deltas, unrecordable

_TILE = 65_536  # numbers of a gradient made at once


def can_learn_fast(tagger: Tagger) -> bool:
    """Whether all of a tagger's gradients can be made that way."""
    return unrecordable(tagger) is None and tagger.precision == "float32"


class FastLearner:
    """Finds meta-gradients as the textbook loop would; see the module's first lines."""

    def __init__(self, tagger: Tagger, settings: Settings) -> None:
        self._meta = settings.meta
        self._max_weight = settings.loss.max_weight
        self._clip_norm = settings.optimiser.clip_norm
        self._recorder = Recorder(tagger)
        self._adam = Adam(tagger.trainable, settings.optimiser)
        self._present = {name: own.detach() for name, own in tagger.trainable.items()}
        self._own = {name: own.clone() for name, own in self._present.items()}
        self._total = {name: torch.zeros_like(own) for name, own in self._own.items()}
        widest = max(own.shape[-1] for own in self._own.values())
        self._tile = torch.empty(max(_TILE, widest), device=tagger.device)

    @property
    def total(self) -> list[Tensor]:
        """The sum of the query gradients since the block was entered."""
        return list(self._total.values())

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Tasks of one meta-step belong in one block; after it the tagger has its own weights."""
        present, own = list(self._present.values()), list(self._own.values())
        torch._foreach_copy_(own, present)
        torch._foreach_zero_(self.total)
        try:
            yield
        finally:
            torch._foreach_copy_(present, own)

    @torch.no_grad()
    def learn(self, support: Sequence[Example], query: Example, *, rate: float) -> float:
        """Adapt to a support, and add the query's gradient there to the total; its loss."""
        torch._foreach_copy_(list(self._present.values()), list(self._own.values()))
        for number in range(1, self._meta.inner_steps + 1):
            self._adam.steps = number
            self._take_step(support, rate)
        recording = self._recorder.record([query], max_weight=self._max_weight)
        for name, (inputs, deltas) in recording.matrices.items():
            self._total[name].addmm_(deltas.T, inputs)
        for name, gradient in recording.vectors.items():
            self._total[name].add_(gradient[0])
        return float(recording.losses)

    def _take_step(self, support: Sequence[Example], rate: float) -> None:
        recording = self._recorder.record(support, max_weight=self._max_weight)
        for name, gradients in recording.vectors.items():
            gradient = clipped(gradients.mean(dim=0), self._clip_norm)
            self._adam.change(name, gradient, rate)
        for name, (inputs, deltas) in recording.matrices.items():
            deltas /= len(support)
            clip_deltas(inputs, deltas, self._clip_norm)
            n_outputs, width = deltas.shape[1], inputs.shape[1]
            n_rows = max(1, len(self._tile) // width)
            for begin in range(0, n_outputs, n_rows):
                rows = slice(begin, min(begin + n_rows, n_outputs))
                tile = self._tile[: (rows.stop - begin) * width].view(-1, width)
                torch.mm(deltas[:, rows].T, inputs, out=tile)
                self._adam.change(name, tile, rate, rows=rows)
