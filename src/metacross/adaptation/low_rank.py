"""Weights adapted by gradient descent, kept as the original weights and thin corrections.

The gradient of a matrix is ``delta.T @ x`` over the few pieces of a support, so the adapted matrix
is ``W - scale * delta.T @ x`` and its product with an input ``z`` is ``z @ W.T`` minus
``scale * (z @ x.T) @ delta``. No adapted matrix exists: many tasks go through the network together,
share the product with ``W``, and each adds its own two thin products.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, TypeAlias, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from metacross.adaptation.gradient_recorder import LayerTrace, TraceableLayer, UnsupportedLayer
from metacross.settings import InnerOptimizer, OptimizerSettings

_T = TypeVar("_T")
SquaredNorms: TypeAlias = Callable[[str, Tensor, Tensor], Tensor]
"""The squared norms of the gradients ``deltas.mT @ inputs`` of a matrix, given its name, inputs and
deltas. *Shape:* (tasks,)."""


class LastResults(Generic[_T]):
    """What was computed of the last few tensors: layers that follow each other share inputs."""

    def __init__(self, n: int = 8) -> None:
        self._results: deque[tuple[weakref.ref[Tensor], _T]] = deque(maxlen=n)

    def of(self, tensor: Tensor, compute: Callable[[Tensor], _T]) -> _T:
        """The result of ``compute``, from memory if it is there."""
        for reference, result in self._results:
            if reference() is tensor:
                return result
        result = compute(tensor)
        self._results.append((weakref.ref(tensor), result))
        return result


@dataclass(frozen=True, slots=True)
class SupportGradients:
    """The gradients of tasks: each is the mean over the sentences of its support.

    Layers that read the same states share one tensor of inputs. Padding is zero.

    *Shape:* sizes (tasks,): sentences of each support; of each matrix the inputs
    (tasks, pieces, in) and deltas (tasks, pieces, out) of the sum of the losses; the gradient of
    each vector, of the mean of the losses, (tasks, width).
    """

    sizes: Tensor
    matrices: Mapping[str, tuple[Tensor, Tensor]]
    vectors: Mapping[str, Tensor]
    squared_norms: SquaredNorms


def support_gradients(trace: LayerTrace, support_sizes: Sequence[int]) -> SupportGradients:
    """The gradients of tasks from a trace of all sentences of their supports, task by task."""
    device = trace.losses.device
    n_tasks = len(support_sizes)
    if trace.shared and n_tasks > 1:
        raise UnsupportedLayer  # only the sum over the tasks is known
    firsts = [0, *itertools.accumulate(support_sizes)]
    ends = [trace.ends[first] for first in firsts]
    longest = max(end - start for start, end in pairwise(ends))
    places = torch.cat(
        [
            torch.arange(number * longest, number * longest + end - start)
            for number, (start, end) in enumerate(pairwise(ends))
        ]
    ).to(device)  # (pieces,): where each piece of the trace goes in (tasks * longest)
    padded: dict[int, Tensor] = {}

    def by_task(rows: Tensor) -> Tensor:
        """*Shape:* (pieces, width), result (tasks, pieces, width)."""
        if n_tasks == 1:
            return rows[None]
        if id(rows) not in padded:
            zeros = rows.new_zeros(n_tasks * longest, rows.shape[1])
            padded[id(rows)] = zeros.index_copy_(0, places, rows).view(n_tasks, longest, -1)
        return padded[id(rows)]

    sizes = torch.tensor(support_sizes, device=device)
    task_of_sentence = torch.arange(n_tasks, device=device).repeat_interleave(sizes)
    matrices = {}
    for name in trace.matrix_names:
        inputs, deltas = trace.matrix(name)
        matrices[name] = (by_task(inputs), by_task(deltas))
    vectors = {
        name: rows.new_zeros(n_tasks, rows.shape[1]).index_add_(0, task_of_sentence, rows)
        / sizes[:, None]
        for name, rows in trace.vectors.items()
    }
    return SupportGradients(sizes, matrices, vectors, _gram_norms())


def _gram_norms() -> SquaredNorms:
    """Norms from the Gram matrices of inputs and deltas; those of shared inputs are kept."""
    grams = LastResults[Tensor]()

    def squared_norms(_name: str, inputs: Tensor, deltas: Tensor) -> Tensor:
        gram = grams.of(inputs, lambda inputs: torch.bmm(inputs, inputs.mT))
        return torch.bmm(deltas, deltas.mT).mul_(gram).sum(dim=(1, 2))

    return squared_norms


@dataclass(frozen=True, slots=True)
class Correction:
    """What one step subtracts from a matrix.

    *Shape:* (tasks, pieces, in), (tasks, pieces, out), (tasks, 1, 1).
    """

    inputs: Tensor
    deltas: Tensor
    scales: Tensor


@dataclass(frozen=True, slots=True)
class LowRankWeights:
    """The weights of several tasks: ``decay`` times the original matrices minus corrections, and
    vectors of their own. *Shape:* each vector (tasks, width).
    """

    n_tasks: int
    decay: float
    corrections: Callable[[str], Sequence[Correction]]
    """The corrections of a matrix, one for each step so far."""
    vectors: Mapping[str, Tensor]

    def of_rows(self, task_of_row: Sequence[int]) -> LowRankWeights:
        """Weights to be used on a batch whose rows belong to these tasks."""
        n_rows = len(task_of_row) // self.n_tasks
        if [*task_of_row] == [task for task in range(self.n_tasks) for _ in range(n_rows)]:
            return self  # the same number of rows for each task, in order
        inputs_of_rows = LastResults[Tensor]()

        def rows(part: Tensor) -> Tensor:
            return part.index_select(0, torch.tensor(task_of_row, device=part.device))

        def corrections(name: str) -> list[Correction]:
            return [
                Correction(inputs_of_rows.of(c.inputs, rows), rows(c.deltas), rows(c.scales))
                for c in self.corrections(name)
            ]

        vectors = {name: rows(vector) for name, vector in self.vectors.items()}
        return LowRankWeights(len(task_of_row), self.decay, corrections, vectors)


class LowRankSteps:
    """Takes steps of gradient descent on the weights of tasks."""

    def __init__(
        self,
        trainable: Mapping[str, nn.Parameter],
        settings: OptimizerSettings,
        name: InnerOptimizer,
    ) -> None:
        self._trainable = trainable
        self._settings = settings
        self._normalized = name == "normalized"
        self.needs_norms = self._normalized or settings.clip_norm is not None
        """Whether the size of a step depends on the norm of the gradient."""

    def first(self, n_tasks: int) -> LowRankWeights:
        """The original weights, for each task."""
        return LowRankWeights(n_tasks, 1.0, lambda _name: (), {})

    @torch.no_grad()
    def after(
        self,
        weights: LowRankWeights,
        gradients: SupportGradients,
        learning_rate: float,
        *,
        keep: bool,
    ) -> LowRankWeights:
        """The weights after one more step. With ``keep`` the new corrections are computed once and
        kept, otherwise again whenever a layer needs them, which takes less memory.
        """
        decay = 1 - learning_rate * self._settings.weight_decay

        def added(name: str) -> Correction:
            inputs, deltas = gradients.matrices[name]
            sizes = torch.full_like(deltas[:, 0, 0], learning_rate)
            if self.needs_norms:
                squares = gradients.squared_norms(name, inputs, deltas)
                norms = squares.clamp(min=0).sqrt() / gradients.sizes
                sizes = self._step_sizes(norms, self._trainable[name].numel(), learning_rate)
            sizes = sizes / gradients.sizes
            return Correction(inputs, deltas, sizes[:, None, None])

        kept = {name: added(name) for name in gradients.matrices} if keep else {}

        def corrections(name: str) -> list[Correction]:
            earlier = [replace(c, scales=c.scales * decay) for c in weights.corrections(name)]
            if name not in gradients.matrices:
                return earlier
            return [*earlier, kept[name] if keep else added(name)]

        vectors = {
            name: self._changed(self._vector(name, weights), gradient, learning_rate)
            for name, gradient in gradients.vectors.items()
        }
        return LowRankWeights(weights.n_tasks, weights.decay * decay, corrections, vectors)

    def _vector(self, name: str, weights: LowRankWeights) -> Tensor:
        vector = weights.vectors.get(name)
        return self._trainable[name].detach() if vector is None else vector

    def _changed(self, vector: Tensor, gradient: Tensor, learning_rate: float) -> Tensor:
        """*Shape:* vector (tasks, width) or (width,), gradient and result (tasks, width)."""
        sizes = self._step_sizes(gradient.norm(dim=1), gradient.shape[1], learning_rate)
        return vector - sizes[:, None] * gradient

    def _step_sizes(self, norms: Tensor, n_elements: int, learning_rate: float) -> Tensor:
        """What gradients with these norms are multiplied by. *Shape:* (tasks,)."""
        sizes = torch.full_like(norms, learning_rate)
        if self._settings.clip_norm is not None:
            factors = torch.clamp(self._settings.clip_norm / (norms + 1e-6), max=1.0)
            norms, sizes = norms * factors, sizes * factors
        if self._normalized:
            sizes = sizes / (norms / n_elements**0.5 + self._settings.epsilon)
        return sizes


class LowRankLayers:
    """Lets the layers of a network use the weights of tasks, in each thread its own."""

    def __init__(self, layers: Mapping[str, TraceableLayer]) -> None:
        self._layers = layers
        self._thread = threading.local()

    @contextlib.contextmanager
    def replaced(self) -> Iterator[None]:
        """Inside the block the layers use the weights that :meth:`using` names; without any, the
        original ones.
        """
        with contextlib.ExitStack() as stack:
            for name, layer in self._layers.items():
                stack.enter_context(
                    replaced_forward(layer.module, self._forward(name, layer, layer.module.forward))
                )
            yield

    @contextlib.contextmanager
    def using(self, weights: LowRankWeights) -> Iterator[None]:
        """Inside the block, in this thread, the layers use these weights. The rows of a batch
        belong to the tasks in order, the same number of rows to each.
        """
        self._thread.active = _Active(weights)
        try:
            yield
        finally:
            self._thread.active = None

    def _forward(
        self, name: str, layer: TraceableLayer, original: Callable[[Tensor], Tensor]
    ) -> Callable[[Tensor], Tensor]:
        def forward(x: Tensor) -> Tensor:
            active: _Active | None = getattr(self._thread, "active", None)
            if active is None:
                return original(x)
            if layer.norm is not None:
                scales = active.vector(f"{name}.weight", layer.weight, x)
                result = layer.norm.normalized(x) * (scales + layer.norm.offset)
            else:
                result = active.multiplied(x, f"{name}.weight", layer)
            if layer.bias is None:
                return result
            return result + active.vector(f"{name}.bias", layer.bias, result)

        return forward


class _Active:
    """The weights in use, with the products that layers with the same input share."""

    def __init__(self, weights: LowRankWeights) -> None:
        self._weights = weights
        self._last_input: weakref.ref[Tensor] | None = None
        self._similarities = LastResults[Tensor]()

    def multiplied(self, x: Tensor, name: str, layer: TraceableLayer) -> Tensor:
        """Multiply the pieces of each row by the weights of its task.

        *Shape:* (rows, pieces, in), result (rows, pieces, out).
        """
        weights = self._weights
        n_tasks = weights.n_tasks
        if x.dim() != 3 or len(x) % n_tasks:
            raise UnsupportedLayer
        result = functional.linear(x, layer.weight)  # (rows, pieces, out)
        if weights.decay != 1 and layer.weight_learns:
            result = result * weights.decay
        shape = result.shape
        by_task = result.reshape(n_tasks, -1, shape[-1])
        for correction in weights.corrections(name):
            similarities = self._similarities_to(x, correction.inputs)
            by_task = torch.baddbmm(
                by_task, similarities * correction.scales, correction.deltas, alpha=-1
            )
        return by_task.view(shape)

    def _similarities_to(self, x: Tensor, inputs: Tensor) -> Tensor:
        """*Shape:* (rows, pieces, in) and (tasks, support pieces, in), result
        (tasks, pieces of its rows, support pieces).
        """
        if self._last_input is None or self._last_input() is not x:
            self._last_input = weakref.ref(x)
            self._similarities = LastResults[Tensor]()
        return self._similarities.of(
            inputs,
            lambda inputs: torch.bmm(x.reshape(len(inputs), -1, x.shape[-1]), inputs.mT),
        )

    def vector(self, name: str, original: Tensor, x: Tensor) -> Tensor:
        """A bias or the weights of a norm, shaped to be used on ``x``: (rows, ..., width)."""
        vector = self._weights.vectors.get(name)
        if vector is None:
            return original
        if len(x) % len(vector):
            raise UnsupportedLayer
        rows = vector.repeat_interleave(len(x) // len(vector), dim=0)  # (rows, width)
        return rows[(slice(None), *(None,) * (x.dim() - 2))]


@contextlib.contextmanager
def replaced_forward(module: nn.Module, forward: Callable[..., Tensor]) -> Iterator[None]:
    """Replace the forward pass of a module inside the block."""
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
