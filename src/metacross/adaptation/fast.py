"""Fast and exact adaptation: no weight is copied, changed or restored.

All sentences adapt from the same weights, so the contribution of a source sentence to a gradient
is recorded once and serves every sentence that retrieves it: the gradient of a support is the mean
over its sentences. The first step of Adam is ``learning_rate * g / (|g| + eps)``, elementwise. When
the forward pass of a group of test sentences reaches a layer, the adapted weights of each of them
are computed from the recorded gradients, tile by tile, in buffers that stay in the CPU cache.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from metacross.adaptation.gradient_cache import GradientCache
from metacross.adaptation.gradient_recorder import (
    TraceableLayer,
    UnsupportedLayer,
    clip_deltas,
    traceable_layers,
    untraceable_weight,
)
from metacross.adaptation.optimizers import FreshAdam
from metacross.adaptation.plain import label_logits
from metacross.adaptation.threads import worker_threads
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings

_TILE = 1_048_576  # numbers of adapted weights made at once
_GROUP_SIZE = 6  # test sentences that go through the network together


def unsupported_reason(tagger: Tagger, settings: Settings) -> str | None:
    """Why a tagger needs the textbook loop; None if the engine gives the same results."""
    if settings.adaptation.steps > 1:
        return "adaptation.steps is more than 1"
    if settings.adaptation.dropout:
        return "adaptation.dropout is on"
    if tagger.precision != "float32":
        return "run.precision is not float32"
    name = untraceable_weight(tagger)
    if name is not None:
        return f"the engine does not support the weight {name}"
    return None


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


class FastEngine:
    """Labels sentences with the same logits as the textbook loop; see the module docstring."""

    def __init__(self, tagger: Tagger, settings: Settings, *, memory_bytes: int) -> None:
        self._tagger = tagger
        self._layers = traceable_layers(tagger)
        self._adam = FreshAdam(settings.optimizer)
        self._learning_rate = settings.adaptation.learning_rate
        self.gradient_cache = GradientCache(
            tagger, max_weight=settings.adaptation.max_weight, memory_bytes=memory_bytes
        )
        self._thread = threading.local()  # each thread has its own group and tiles

    def logits(
        self,
        examples: Sequence[Example],
        supports: Sequence[Mapping[int, Example]],
        *,
        progress: Callable[[int], None] = lambda _n_done: None,
    ) -> list[Tensor]:
        """The logits of each sentence after adaptation.

        ``supports`` maps positions of source sentences to examples, for each sentence.
        *Shape:* each (words, tags).
        """
        logits: dict[int, Tensor] = {}

        def adapted(group: Sequence[int]) -> dict[int, Tensor]:
            group_logits = self._adapted_logits(
                [examples[i] for i in group], [[*supports[i]] for i in group]
            )
            return dict(zip(group, group_logits, strict=True))

        with worker_threads(self._tagger.device, len(examples)) as workers:
            for needed, tests in self._stages(supports):
                self.gradient_cache.hold(needed, workers)
                with self._replaced_layers():
                    alone = self.gradient_cache.has_shared(next(iter(needed.values())))
                    size = 1 if alone else _GROUP_SIZE
                    groups = _groups(tests, examples, supports, workers.n, size)
                    for group_logits in workers.each(adapted, groups):
                        logits |= group_logits
                        progress(len(logits))
        return [logits[i] for i in range(len(examples))]

    def _stages(
        self, supports: Sequence[Mapping[int, Example]]
    ) -> Iterator[tuple[dict[int, Example], list[int]]]:
        """Split the test sentences so that the source sentences of each part fit in memory.

        Yields the source sentences of a part and the positions of its test sentences.
        """
        needed: dict[int, Example] = {}
        tests: list[int] = []
        n_pieces = 0
        for i in _walk(supports):
            new = {p: example for p, example in supports[i].items() if p not in needed}
            n_new = sum(example.n_pieces for example in new.values())
            if tests and n_pieces + n_new > self.gradient_cache.n_room(
                next(iter(supports[i].values()))
            ):
                yield needed, tests
                needed, tests, n_pieces = {}, [], 0
                new = dict(supports[i])
                n_new = sum(example.n_pieces for example in new.values())
            needed |= new
            tests.append(i)
            n_pieces += n_new
        if tests:
            yield needed, tests

    @torch.no_grad()
    def _adapted_logits(
        self, examples: Sequence[Example], supports: Sequence[Sequence[int]]
    ) -> list[Tensor]:
        rows = [
            support
            for example, support in zip(examples, supports, strict=True)
            for _ in example.windows
        ]
        vectors = {
            name: self._adapted_vector(self._tagger.trainable[name], gradients)
            for name, gradients in self.gradient_cache.vectors(rows).items()
        }
        sizes = torch.tensor([len(row) for row in rows], device=self._tagger.device)
        shared = self.gradient_cache.shared(rows[0])
        self._thread.group = _Group(self.gradient_cache.slots(rows), sizes, shared, vectors)
        return label_logits(self._tagger, examples)

    def _adapted_vector(self, weight: Tensor, gradients: Tensor) -> Tensor:
        """*Shape:* (width,) and (rows, width), result (rows, width)."""
        clip_norm = self._adam.settings.clip_norm
        if clip_norm is not None:
            norms = gradients.norm(dim=1, keepdim=True)
            gradients = gradients * torch.clamp(clip_norm / (norms + 1e-6), max=1.0)
        adapted = torch.empty_like(gradients)
        self._adam.step(weight, [gradients], self._learning_rate, out=adapted, decays=False)
        return adapted

    @contextlib.contextmanager
    def _replaced_layers(self) -> Iterator[None]:
        """Inside the block the layers use adapted weights, in each thread those of its group."""
        adapted = set(self.gradient_cache.weight_names)
        with contextlib.ExitStack() as stack:
            for name, layer in self._layers.items():
                if f"{name}.weight" in adapted:
                    stack.enter_context(_replaced(layer.module, self._forward(name, layer)))
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
            else:
                weight = self._tagger.trainable[f"{name}.weight"]
                scaled = self._multiplied(x, f"{name}.weight", weight, group)
            if not layer.has_bias:
                return scaled
            return scaled.add_(group.vectors[f"{name}.bias"][per_row])

        return forward

    def _multiplied(self, x: Tensor, name: str, weight: Tensor, group: _Group) -> Tensor:
        """Multiply the pieces of each row, (rows, pieces, in), by the weights adapted to it."""
        inputs, deltas = self._gradient_of(name, group)
        deltas /= group.sizes[:, None, None]
        clip_deltas(inputs, deltas, self._adam.settings.clip_norm)
        width = weight.shape[1]
        n_outputs = max(1, _TILE // (len(x) * width))
        result = x.new_empty(*x.shape[:2], len(weight))
        for start in range(0, len(weight), n_outputs):
            outputs = slice(start, start + n_outputs)
            weight_tile = weight[outputs]
            shape = (len(x), len(weight_tile), width)
            gradient, adapted = (self._tile(number, shape) for number in range(2))
            torch.bmm(deltas[..., outputs].transpose(1, 2), inputs, out=gradient)
            self._adam.step(weight_tile, [gradient], self._learning_rate, out=adapted, decays=True)
            result[..., outputs] = torch.bmm(x, adapted.transpose(1, 2))
        return result

    def _gradient_of(self, name: str, group: _Group) -> tuple[Tensor, Tensor]:
        """The inputs and deltas of a matrix for the support of each row.

        *Shape:* (rows, pieces, in) and (rows, pieces, out).
        """
        parts = []
        if self.gradient_cache.has_matrix(name):
            parts.append(self.gradient_cache.matrix(name, group.slots))
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


def _walk(supports: Sequence[Mapping[int, Example]]) -> Iterator[int]:
    """Order the test sentences so that few source sentences are recorded twice: after each come
    those that share a source sentence with it, rarely shared ones first.
    """
    users: dict[int, list[int]] = {}
    for i, support in enumerate(supports):
        for position in support:
            users.setdefault(position, []).append(i)
    visited: set[int] = set()
    for first in range(len(supports)):
        ahead = [first]
        while ahead:
            i = ahead.pop()
            if i in visited:
                continue
            visited.add(i)
            yield i
            for position in sorted(supports[i], key=lambda p: (-len(users[p]), p)):
                ahead += [other for other in reversed(users[position]) if other not in visited]


def _groups(
    tests: Sequence[int],
    examples: Sequence[Example],
    supports: Sequence[Mapping[int, Example]],
    n_workers: int,
    group_size: int,
) -> list[Sequence[int]]:
    """Groups of test sentences of similar length with supports of similar length, the most
    expensive first; every worker gets the same number of groups.
    """

    def n_support(i: int) -> int:
        return sum(example.n_pieces for example in supports[i].values())

    def cost(group: Sequence[int]) -> int:
        return sum(n_support(i) + examples[i].n_pieces for i in group)

    if group_size == 1:
        return sorted(([i] for i in tests), key=cost, reverse=True)
    n_groups = n_workers * math.ceil(len(tests) / group_size / n_workers)
    n_bands = max(1, round(math.sqrt(n_groups)))
    groups = []
    for band in _evenly(sorted(tests, key=n_support), n_bands):
        by_length = sorted(band, key=lambda i: examples[i].n_pieces)
        groups += _evenly(by_length, round(n_groups / n_bands))
    return sorted(groups, key=cost, reverse=True)


def _evenly(items: Sequence[int], n: int) -> list[Sequence[int]]:
    """Split into ``n`` parts of about equal size; empty parts are left out."""
    ends = [len(items) * i // n for i in range(n + 1)]
    return [items[i:j] for i, j in pairwise(ends) if i < j]


@contextlib.contextmanager
def _replaced(module: nn.Module, forward: Callable[..., Tensor]) -> Iterator[None]:
    """Replace the forward pass of a module inside the block."""
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
