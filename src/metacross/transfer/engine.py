"""Adapts to every sentence on its own, fast and exactly: no weight is copied, changed or restored.

All sentences are adapted from the same weights, so what a source sentence contributes to a
gradient is recorded once and serves every sentence that retrieves it: the gradient of a support is
the mean of its sentences'. The first step of Adam is ``rate * g / (|g| + eps)``, weight by weight.
When the forward pass of a few test sentences reaches a layer, the weights that each of them has
there are made out of the records, tile by tile, in buffers that stay in the cache; they are used,
and the next tile takes their place.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.transfer.prediction import label_logits
from metacross.transfer.recording import UnsharedLayer, clip_deltas, recordable, unrecordable
from metacross.transfer.records import Records

_TILE = 131_072  # numbers of adapted weights made at once
_TOGETHER = 8  # test sentences that go through the network together


def why_not(tagger: Tagger, settings: Settings) -> str | None:
    """Why a tagger needs the textbook loop; None where the engine gives the same."""
    if settings.adaptation.steps > 1:
        return "adaptation.steps is more than 1"
    if settings.adaptation.dropout:
        return "adaptation.dropout is on"
    if tagger.precision != "float32":
        return "run.precision is not float32"
    odd = unrecordable(tagger)
    if odd is not None:
        return f"{odd} is of a kind that the engine does not know"
    return None


@dataclass(frozen=True, slots=True)
class _Group:
    """Test sentences that go through the network together, a row for each window.

    ``vectors`` has the adapted biases and LayerNorms. *Shape:* slots (rows, pieces of the support),
    sizes (rows,), each vector (rows, width).
    """

    slots: Tensor
    sizes: Tensor
    vectors: dict[str, Tensor]


class FastEngine:
    """Labels sentences as the textbook loop would; see the module's first lines."""

    def __init__(self, tagger: Tagger, settings: Settings, *, memory_bytes: int) -> None:
        self._tagger = tagger
        self._modules = recordable(tagger)
        self._step = _FirstStep(settings)
        self.records = Records(
            tagger, max_weight=settings.adaptation.max_weight, memory_bytes=memory_bytes
        )
        self._tiles = [torch.empty(0, device=tagger.device)] * 2

    def logits(
        self, examples: Sequence[Example], supports: Sequence[Mapping[int, Example]]
    ) -> list[Tensor]:
        """The adapted scores of each sentence; ``supports`` maps positions of source sentences to
        examples. *Shape:* each (words, tags).
        """
        found: dict[int, Tensor] = {}
        for needed, tests in self._stages(supports):
            self.records.hold(needed)
            tests.sort(key=lambda i: examples[i].n_pieces)
            for start in range(0, len(tests), _TOGETHER):
                own = tests[start : start + _TOGETHER]
                logits = self._adapted_logits(
                    [examples[i] for i in own], [[*supports[i]] for i in own]
                )
                found |= zip(own, logits, strict=True)
        return [found[i] for i in range(len(examples))]

    def _stages(
        self, supports: Sequence[Mapping[int, Example]]
    ) -> Iterator[tuple[dict[int, Example], list[int]]]:
        """Test sentences whose source sentences have room in memory together, with these; those
        that share source sentences come one after the other.
        """
        uses = Counter(position for support in supports for position in support)

        def popular(i: int) -> list[tuple[int, int]]:
            return sorted(((uses[p], p) for p in supports[i]), reverse=True)

        needed: dict[int, Example] = {}
        tests: list[int] = []
        for i in sorted(range(len(supports)), key=popular, reverse=True):
            if tests and not self.records.has_room_for({**needed, **supports[i]}):
                yield needed, tests
                needed, tests = {}, []
            needed |= supports[i]
            tests.append(i)
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
            name: self._step.vector(self._tagger.trainable[name], gradient)
            for name, gradient in self.records.vectors(rows).items()
        }
        sizes = torch.tensor([len(row) for row in rows], device=self._tagger.device)
        group = _Group(self.records.slots(rows), sizes, vectors)
        with contextlib.ExitStack() as stack:
            for name, module in self._modules.items():
                if f"{name}.weight" in (*self.records.matrix_names, *vectors):
                    stack.enter_context(_replaced(module, self._forward(name, module, group)))
            return label_logits(self._tagger, examples)

    def _forward(
        self, name: str, module: nn.Linear | nn.LayerNorm, group: _Group
    ) -> Callable[[Tensor], Tensor]:
        bias = group.vectors[f"{name}.bias"][:, None] if module.bias is not None else None

        def forward(x: Tensor) -> Tensor:
            if x.dim() != 3 or len(x) != len(group.slots):
                raise UnsharedLayer
            if isinstance(module, nn.LayerNorm):
                scaled = functional.layer_norm(x, module.normalized_shape, None, None, module.eps)
                scaled *= group.vectors[f"{name}.weight"][:, None]
            else:
                scaled = self._multiplied(x, f"{name}.weight", module.weight, group)
            return scaled if bias is None else scaled.add_(bias)

        return forward

    def _multiplied(self, x: Tensor, name: str, weight: Tensor, group: _Group) -> Tensor:
        """Multiply each row's pieces, (rows, pieces, in), with the weights adapted to it."""
        inputs, deltas = self.records.matrix(name, group.slots)
        deltas /= group.sizes[:, None, None]
        clip_deltas(inputs, deltas, self._step.clip_norm)
        width = weight.shape[1]
        n_outputs = max(1, _TILE // (len(x) * width))
        result = x.new_empty(*x.shape[:2], len(weight))
        for start in range(0, len(weight), n_outputs):
            outputs = slice(start, start + n_outputs)
            own = weight[outputs]
            shape = (len(x), len(own), width)
            gradient, adapted = (self._tile(number, shape) for number in range(2))
            torch.bmm(deltas[..., outputs].transpose(1, 2), inputs, out=gradient)
            self._step.matrix(own, gradient, out=adapted)
            result[..., outputs] = torch.bmm(x, adapted.transpose(1, 2))
        return result

    def _tile(self, number: int, shape: tuple[int, int, int]) -> Tensor:
        size = shape[0] * shape[1] * shape[2]
        if len(self._tiles[number]) < size:
            self._tiles[number] = torch.empty(size, device=self._tagger.device)
        return self._tiles[number][:size].view(shape)


class _FirstStep:
    """The first step of Adam in the forms of the settings, on weights of many sentences at once.

    Without bias correction the moments are a tenth of the gradient and a thousandth of its square.
    """

    def __init__(self, settings: Settings) -> None:
        optimiser, rate = settings.optimiser, settings.adaptation.rate
        self._epsilon = optimiser.epsilon
        self.clip_norm = optimiser.clip_norm
        self._decay = 1 - rate * optimiser.weight_decay
        corrected = optimiser.bias_correction
        self._rate = rate if corrected else 0.1 * rate
        self._root = 1.0 if corrected else 0.001**0.5

    def vector(self, weight: Tensor, gradients: Tensor) -> Tensor:
        """A vector after the steps. *Shape:* (width,) and (rows, width), result (rows, width)."""
        if self.clip_norm is not None:
            norms = gradients.norm(dim=1, keepdim=True)
            gradients = gradients * torch.clamp(self.clip_norm / (norms + 1e-6), max=1.0)
        divisors = gradients.abs().mul_(self._root).add_(self._epsilon)
        return torch.addcdiv(weight, gradients, divisors, value=-self._rate)

    def matrix(self, weight: Tensor, gradients: Tensor, *, out: Tensor) -> None:
        """Some rows of a matrix after the steps. *Shape:* (n, in), (rows, n, in), out likewise."""
        divisors = torch.abs(gradients, out=out)
        if self._root != 1:
            divisors.mul_(self._root)
        divisors.add_(self._epsilon)
        if self._decay != 1:
            weight = weight * self._decay
        torch.addcdiv(weight, gradients, divisors, value=-self._rate, out=out)


@contextlib.contextmanager
def _replaced(module: nn.Module, forward: Callable[..., Tensor]) -> Iterator[None]:
    """Give a module another forward pass for a while."""
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
