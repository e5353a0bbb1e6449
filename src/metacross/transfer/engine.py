"""Adapts to every sentence on its own, fast and exactly: no weight is copied, changed or restored.

All sentences are adapted from the same weights, so what a source sentence contributes to a
gradient can be recorded once: for a linear layer the gradient is ``delta.T @ x``, of the inputs
``x`` the layer saw and the gradients ``delta`` at its outputs. A support's gradient is the mean of
its sentences', so the records serve every sentence that retrieves them. The first step of Adam is
``rate * g / (|g| + eps)``, weight by weight: when the forward pass of a test sentence reaches a
layer, the step is made there in a small tile that stays in the cache, used, and dropped. The
output of the frozen layers does not depend on the step and is computed for many sentences at once.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from metacross.model.encoder import layers_of
from metacross.model.losses import sentence_losses
from metacross.model.tagger import Example, Tagger
from metacross.settings import AdaptationSettings, OptimiserSettings, Settings
from metacross.transfer.adaptation import gradients

_TILE = 131_072  # numbers of a weight's step held at once
_RECORDED_PIECES = 2_048  # pieces of source sentences that go through the network together


@dataclass(frozen=True, slots=True)
class LinearRecord:
    """What a linear layer saw of a source sentence. *Shape:* (pieces, in) and (pieces, out)."""

    inputs: Tensor
    deltas: Tensor


@dataclass(frozen=True, slots=True)
class NormRecord:
    """The gradients of a LayerNorm; ``bias`` is None where it has none. *Shape:* (width,)."""

    weight: Tensor
    bias: Tensor | None


Record = dict[str, LinearRecord | NormRecord]


@dataclass(slots=True)
class _Watch:
    """Inputs and output gradients of a module, collected during one pass."""

    inputs: list[Tensor] = field(default_factory=list)
    deltas: list[Tensor] = field(default_factory=list)


def why_not(tagger: Tagger, settings: Settings) -> str | None:
    """Why a tagger needs the textbook loop; None where the engine gives the same."""
    if settings.adaptation.steps > 1:
        return "adaptation.steps is more than 1"
    if settings.adaptation.dropout:
        return "adaptation.dropout is on"
    if tagger.precision != "float32":
        return "run.precision is not float32"
    known = {
        id(parameter) for module in _modules(tagger).values() for parameter in module.parameters()
    }
    odd = [name for name, weight in tagger.trainable.items() if id(weight) not in known]
    if odd:
        return f"{odd[0]} is of a kind that the engine does not know"
    return None


def _modules(tagger: Tagger) -> dict[str, nn.Module]:
    """The linear layers and LayerNorms with something to train."""
    trainable = {id(weight) for weight in tagger.trainable.values()}
    return {
        name: module
        for name, module in tagger.network.named_modules()
        if isinstance(module, nn.Linear | nn.LayerNorm)
        and any(id(parameter) in trainable for parameter in module.parameters(recurse=False))
    }


class UnsharedLayer(Exception):  # noqa: N818 - a finding, not a failure
    """A layer reads something else than the pieces of the sentences, once a pass."""


class FastEngine:
    """Labels sentences as the textbook loop would; see the module's first lines."""

    def __init__(self, tagger: Tagger, settings: Settings, *, memory_bytes: int) -> None:
        self._tagger = tagger
        self._adaptation: AdaptationSettings = settings.adaptation
        self._optimiser: OptimiserSettings = settings.optimiser
        self._modules = _modules(tagger)
        self._records: OrderedDict[int, Record] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._memory_bytes = memory_bytes
        n_frozen = settings.encoder.frozen_layers or 0
        self._frozen = list(layers_of(tagger.network)[:n_frozen]) if n_frozen else []

    def logits(
        self, examples: Sequence[Example], supports: Sequence[Mapping[int, Example]]
    ) -> Iterator[Tensor]:
        """The adapted scores of each sentence; ``supports`` maps positions of source sentences to
        examples. *Shape:* each (words, tags).
        """
        start = 0
        while start < len(examples):
            end = self._group_end(start, supports)
            missing: dict[int, Example] = {}
            for support in supports[start:end]:
                missing |= {p: e for p, e in support.items() if p not in self._records}
            self._record(missing)
            states = self._frozen_states(examples[start:end])
            for i in range(start, end):
                records = [self._records[position] for position in supports[i]]
                yield self._adapted_logits(examples[i], records, states[i - start])
                for position in supports[i]:
                    self._records.move_to_end(position)
            self._forget()
            start = end

    def _group_end(self, start: int, supports: Sequence[Mapping[int, Example]]) -> int:
        """How far to go before the source sentences to record are too many."""
        seen: set[int] = set()
        n_pieces = 0
        for i in range(start, len(supports)):
            for position, example in supports[i].items():
                if position not in seen and position not in self._records:
                    seen.add(position)
                    n_pieces += example.n_pieces
            if n_pieces > _RECORDED_PIECES and i > start:
                return i
        return len(supports)

    def _forget(self) -> None:
        while sum(self._sizes.values()) > self._memory_bytes and self._records:
            position, _ = self._records.popitem(last=False)
            del self._sizes[position]

    def _record(self, examples: Mapping[int, Example]) -> None:
        """Run source sentences forward and back once, and keep what each layer saw of each."""
        if not examples:
            return
        tagger = self._tagger
        batch = tagger.batch(list(examples.values()))
        if batch.tag_ids is None:
            raise UnsharedLayer
        with self._watched() as watches:
            losses = sentence_losses(
                tagger.logits(batch),
                batch.tag_ids,
                batch.sentence_of_word,
                batch.n_sentences,
                max_weight=self._adaptation.max_weight,
            )
            gradients(losses.sum(), tagger)
        row = 0
        for position, example in examples.items():
            rows = slice(row, row + len(example.windows))
            kept = batch.attention[rows].bool()  # (windows, pieces)
            record = {
                name: _record_of(self._modules[name], watch, rows, kept, len(batch.piece_ids))
                for name, watch in watches.items()
                if watch.deltas
            }
            self._records[position] = record
            self._sizes[position] = sum(_size(own) for own in record.values())
            row += len(example.windows)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[dict[str, _Watch]]:
        watches: dict[str, _Watch] = {name: _Watch() for name in self._modules}
        handles = []
        for name, module in self._modules.items():
            watch = watches[name]

            def keep(_m: nn.Module, inputs: Any, output: Tensor, watch: _Watch = watch) -> None:  # noqa: ANN401
                watch.inputs.append(inputs[0].detach())
                if output.requires_grad:
                    output.register_hook(watch.deltas.append)  # type: ignore[no-untyped-call]

            handles.append(module.register_forward_hook(keep))
        try:
            yield watches
        finally:
            for handle in handles:
                handle.remove()

    def _frozen_states(self, examples: Sequence[Example]) -> list[Any]:
        """The output of the frozen layers for each sentence; None where nothing is frozen."""
        if not self._frozen:
            return [None] * len(examples)
        batch = self._tagger.batch(examples)
        caught: list[Any] = []

        def catch(_m: nn.Module, _inputs: Any, output: Any) -> None:  # noqa: ANN401
            caught.append(output)
            raise _Enough

        handle = self._frozen[-1].register_forward_hook(catch)
        try:
            with torch.no_grad(), contextlib.suppress(_Enough):
                self._tagger.logits(batch)
        finally:
            handle.remove()
        states, row = [], 0
        for example in examples:
            longest = max(len(window) for window in example.windows)
            rows = slice(row, row + len(example.windows))
            states.append(_cut(caught[0], rows, longest))
            row += len(example.windows)
        return states

    @torch.no_grad()
    def _adapted_logits(self, example: Example, records: Sequence[Record], state: Any) -> Tensor:  # noqa: ANN401
        with contextlib.ExitStack() as stack:
            for number, layer in enumerate(self._frozen):
                last = number == len(self._frozen) - 1
                stack.enter_context(
                    _replaced(layer, _returning(state) if last else _passing(state))
                )
            for name, module in self._modules.items():
                own = [record[name] for record in records if name in record]
                if own:
                    stack.enter_context(_replaced(module, self._adapted_forward(module, own)))
            return self._tagger.logits(self._tagger.batch([example])).cpu()

    def _adapted_forward(
        self, module: nn.Module, records: Sequence[LinearRecord | NormRecord]
    ) -> Callable[..., Tensor]:
        if isinstance(module, nn.LayerNorm):
            return self._adapted_norm(module, [r for r in records if isinstance(r, NormRecord)])
        if not isinstance(module, nn.Linear):
            raise UnsharedLayer
        return self._adapted_linear(module, [r for r in records if isinstance(r, LinearRecord)])

    def _adapted_norm(
        self, module: nn.LayerNorm, records: Sequence[NormRecord]
    ) -> Callable[[Tensor], Tensor]:
        share = 1 / len(records)
        weight = self._stepped(module.weight, share * sum_of([r.weight for r in records]))
        biases = [record.bias for record in records if record.bias is not None]
        bias = self._stepped(module.bias, share * sum_of(biases)) if biases else None
        return lambda x: functional.layer_norm(x, module.normalized_shape, weight, bias, module.eps)

    def _adapted_linear(
        self, module: nn.Linear, records: Sequence[LinearRecord]
    ) -> Callable[[Tensor], Tensor]:
        inputs = torch.cat([record.inputs for record in records])  # (pieces, in)
        deltas = torch.cat([record.deltas for record in records]) / len(records)  # (pieces, out)
        scale = self._clip_scale(inputs, deltas)
        bias = None
        if module.bias is not None:
            bias = self._stepped(module.bias, deltas.sum(dim=0))
        deltas = deltas * scale
        rows = max(1, _TILE // module.in_features)

        def forward(x: Tensor) -> Tensor:
            result = x.new_empty(*x.shape[:-1], module.out_features)
            for start in range(0, module.out_features, rows):
                tile = slice(start, start + rows)
                gradient = deltas[:, tile].T @ inputs  # (rows, in)
                weight = self._stepped_matrix(module.weight[tile], gradient)
                own_bias = None if bias is None else bias[tile]
                result[..., tile] = functional.linear(x, weight, own_bias)
            return result

        return forward

    def _clip_scale(self, inputs: Tensor, deltas: Tensor) -> Tensor | float:
        """What a gradient is multiplied with to be no longer than allowed; its norm follows from
        the products of its pieces.
        """
        if self._optimiser.clip_norm is None:
            return 1.0
        square = ((deltas @ deltas.T) * (inputs @ inputs.T)).sum().clamp(min=0)
        return torch.clamp(self._optimiser.clip_norm / (square.sqrt() + 1e-6), max=1.0)

    def _stepped(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """A vector after the first step of Adam."""
        if self._optimiser.clip_norm is not None:
            norm = gradient.norm()
            gradient = gradient * torch.clamp(self._optimiser.clip_norm / (norm + 1e-6), max=1.0)
        return weight - self._adaptation.rate * self._direction(gradient)

    def _stepped_matrix(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """Rows of a matrix after the first step of Adam, with weight decay."""
        step = self._direction(gradient)
        decay = 1 - self._adaptation.rate * self._optimiser.weight_decay
        return torch.add(
            weight * decay if decay != 1 else weight, step, alpha=-self._adaptation.rate
        )

    def _direction(self, gradient: Tensor) -> Tensor:
        """``g / (|g| + eps)``, or what the first step is without bias correction."""
        if self._optimiser.bias_correction:
            return gradient / gradient.abs().add_(self._optimiser.epsilon)
        divisor = gradient.abs().mul_(0.001**0.5).add_(self._optimiser.epsilon)
        return gradient.mul(0.1).div_(divisor)


class _Enough(Exception):  # noqa: N818 - ends a forward pass on purpose
    """The output that was wanted is there."""


def sum_of(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    return torch.stack(list(tensors)).sum(dim=0)


def _record_of(
    module: nn.Module, watch: _Watch, rows: slice, kept: Tensor, n_rows: int
) -> LinearRecord | NormRecord:
    """Cut one sentence's part out of what a layer saw of a batch."""
    if len(watch.inputs) != 1 or watch.inputs[0].shape[:2] != (n_rows, kept.shape[1]):
        raise UnsharedLayer
    inputs, deltas = watch.inputs[0][rows][kept], watch.deltas[0][rows][kept]  # (pieces, width)
    if isinstance(module, nn.Linear):
        return LinearRecord(inputs, deltas)
    if not isinstance(module, nn.LayerNorm):
        raise UnsharedLayer
    normed = functional.layer_norm(inputs, module.normalized_shape, None, None, module.eps)
    bias = None if module.bias is None else deltas.sum(dim=0)
    return NormRecord((deltas * normed).sum(dim=0), bias)


def _size(record: LinearRecord | NormRecord) -> int:
    if isinstance(record, NormRecord):
        return 2 * record.weight.nbytes
    return record.inputs.nbytes + record.deltas.nbytes


def _cut(output: Any, rows: slice, longest: int) -> Any:  # noqa: ANN401 - a tensor or a tuple of one
    if isinstance(output, Tensor):
        return output[rows, :longest]
    return (output[0][rows, :longest], *output[1:])


def _returning(state: Any) -> Callable[..., Any]:  # noqa: ANN401
    return lambda *_inputs, **_options: state


def _passing(state: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Hand the input on, in the shape of a layer's output."""
    if isinstance(state, Tensor):
        return lambda hidden, *_inputs, **_options: hidden
    return lambda hidden, *_inputs, **_options: (hidden, *state[1:])


@contextlib.contextmanager
def _replaced(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """Give a module another forward pass for a while."""
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
