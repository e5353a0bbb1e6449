"""Weights after a first step of Adam, made when the forward pass reaches a layer.

The first step of Adam is ``learning_rate * g / (|g| + eps)``, elementwise, so the adapted weight of
a layer is a full matrix for each test sentence. It is computed from recorded gradients, tile by
tile, in buffers that stay in the CPU cache.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from metacross.adaptation.gradient_cache import GradientCache
from metacross.adaptation.gradient_recorder import (
    TraceableLayer,
    UnsupportedLayer,
    clip_deltas,
    traceable_layers,
)
from metacross.adaptation.low_rank import replaced_forward
from metacross.adaptation.optimizers import first_adam_step
from metacross.adaptation.plain import label_logits
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings

_TILE = 1_048_576  # numbers of adapted weights made at once


@dataclass(frozen=True, slots=True)
class _Group:
    """Test sentences that go through the network together, with a row for each window.

    ``shared`` holds the gradients of layers that are shared by all sentences; if there are any, all
    rows belong to one test sentence. ``vectors`` holds the adapted biases and norm weights.

    *Shape:* slots (rows, pieces of the support), sizes (rows,), each vector (rows, width).
    """

    slots: Tensor
    sizes: Tensor
    shared: dict[str, tuple[Tensor, Tensor]]
    vectors: dict[str, Tensor]

    @property
    def first_row(self) -> _Group:
        """The group with only its first row, for what the rows share."""
        vectors = {name: rows[:1] for name, rows in self.vectors.items()}
        return _Group(self.slots[:1], self.sizes[:1], self.shared, vectors)


class AdamGroups:
    """Labels groups of test sentences; see the module docstring."""

    group_size = 6

    def __init__(self, tagger: Tagger, settings: Settings, gradient_cache: GradientCache) -> None:
        self._tagger = tagger
        self._layers = traceable_layers(tagger)
        self._settings = settings.optimizer
        self._learning_rate = settings.adaptation.learning_rate
        self._gradient_cache = gradient_cache
        self._thread = threading.local()  # each thread has its own group and tiles

    @torch.no_grad()
    def logits(
        self, examples: Sequence[Example], supports: Sequence[Mapping[int, Example]]
    ) -> list[Tensor]:
        """The logits of each sentence; its support is in the gradient cache."""
        rows = [
            [*support]
            for example, support in zip(examples, supports, strict=True)
            for _ in example.windows
        ]
        vectors = {
            name: self._adapted_vector(self._tagger.trainable[name], gradients)
            for name, gradients in self._gradient_cache.vectors(rows).items()
        }
        sizes = torch.tensor([len(row) for row in rows], device=self._tagger.device)
        shared = self._gradient_cache.shared(rows[0])
        self._thread.group = _Group(self._gradient_cache.slots(rows), sizes, shared, vectors)
        return label_logits(self._tagger, examples)

    def _adapted_vector(self, weight: Tensor, gradients: Tensor) -> Tensor:
        """*Shape:* (width,) and (rows, width), result (rows, width)."""
        clip_norm = self._settings.clip_norm
        if clip_norm is not None:
            norms = gradients.norm(dim=1, keepdim=True)
            gradients = gradients * torch.clamp(clip_norm / (norms + 1e-6), max=1.0)
        adapted = torch.empty_like(gradients)
        self._step(weight, gradients, out=adapted, decays=False)
        return adapted

    def _step(self, weight: Tensor, gradient: Tensor, *, out: Tensor, decays: bool) -> None:
        first_adam_step(
            weight, gradient, self._learning_rate, self._settings, out=out, decays=decays
        )

    @contextlib.contextmanager
    def replaced_layers(self) -> Iterator[None]:
        """Inside the block the layers use adapted weights, in each thread those of its group."""
        adapted = set(self._gradient_cache.weight_names)
        with contextlib.ExitStack() as stack:
            for name, layer in self._layers.items():
                if not adapted.isdisjoint((f"{name}.weight", f"{name}.bias")):
                    stack.enter_context(replaced_forward(layer.module, self._forward(name, layer)))
            yield

    def _forward(self, name: str, layer: TraceableLayer) -> Callable[[Tensor], Tensor]:
        def forward(x: Tensor) -> Tensor:
            group: _Group = self._thread.group
            dimensions = 3 if layer.norm is None else x.dim()  # 4 inside attention heads
            if len(x) == 1 and f"{name}.weight" in group.shared:
                group = group.first_row
            if x.dim() != dimensions or len(x) != len(group.slots):
                raise UnsupportedLayer
            per_row = (slice(None), *(None,) * (x.dim() - 2))
            if layer.norm is not None:
                scales = group.vectors[f"{name}.weight"] + layer.norm.offset  # (rows, width)
                scaled = layer.norm.normalized(x).mul_(scales[per_row])
            elif layer.weight_learns:
                scaled = self._multiplied(x, f"{name}.weight", layer.weight, group)
            else:
                scaled = functional.linear(x, layer.weight)
            if layer.bias is None:
                return scaled
            return scaled.add_(group.vectors[f"{name}.bias"][per_row])

        return forward

    def _multiplied(self, x: Tensor, name: str, weight: Tensor, group: _Group) -> Tensor:
        """Multiply the pieces of each row, (rows, pieces, in), by the weights adapted to it."""
        inputs, deltas = self._gradient_of(name, group)
        deltas /= group.sizes[:, None, None]
        clip_deltas(inputs, deltas, self._settings.clip_norm)
        width = weight.shape[1]
        n_outputs = max(1, _TILE // (len(x) * width))
        result = x.new_empty(*x.shape[:2], len(weight))
        for start in range(0, len(weight), n_outputs):
            outputs = slice(start, start + n_outputs)
            weight_tile = weight[outputs]
            shape = (len(x), len(weight_tile), width)
            gradient, adapted = (self._tile(number, shape) for number in range(2))
            torch.bmm(deltas[..., outputs].transpose(1, 2), inputs, out=gradient)
            self._step(weight_tile, gradient, out=adapted, decays=True)
            result[..., outputs] = torch.bmm(x, adapted.transpose(1, 2))
        return result

    def _gradient_of(self, name: str, group: _Group) -> tuple[Tensor, Tensor]:
        """The inputs and deltas of a matrix for the support of each row.

        *Shape:* (rows, pieces, in) and (rows, pieces, out).
        """
        parts = []
        if self._gradient_cache.has_matrix(name):
            cache, slots = self._gradient_cache, group.slots
            parts.append((cache.inputs(name, slots), cache.deltas(name, slots)))
        if name in group.shared:
            inputs, deltas = group.shared[name]
            n_rows = len(group.slots)
            parts.append((inputs.repeat(n_rows, 1, 1), deltas.repeat(n_rows, 1, 1)))
        if len(parts) == 1:
            return parts[0]
        return tuple(torch.cat(part, dim=1) for part in zip(*parts, strict=True))  # type: ignore[return-value]

    def _tile(self, number: int, shape: tuple[int, int, int]) -> Tensor:
        size = shape[0] * shape[1] * shape[2]
        tiles: list[Tensor] = self._thread.__dict__.setdefault("tiles", [torch.empty(0)] * 2)
        if len(tiles[number]) < size:
            tiles[number] = torch.empty(size, device=self._tagger.device)
        return tiles[number][:size].view(shape)
