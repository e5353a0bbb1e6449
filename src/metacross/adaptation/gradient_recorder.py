"""Records what the trainable layers see of sentences, out of which every gradient can be made.

For a linear layer the gradient of its weights is ``delta.T @ x``, of the inputs ``x`` it saw and
the gradients ``delta`` at its outputs; both belong to single pieces, so many sentences go through
the network together and each can still have its own gradient. Only deltas are asked of autograd.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from metacross.errors import DataError
from metacross.model.losses import sentence_losses
from metacross.model.tagger import Example, Tagger, TaggerBatch

_T = TypeVar("_T")


class UnsupportedLayer(Exception):  # noqa: N818 - a finding, not a failure
    """A layer reads something else than the pieces of the sentences, once a pass."""


@dataclass(frozen=True, slots=True)
class LayerTrace:
    """What the layers saw of some sentences, without padding, by the names of their weights.

    The pieces of sentence ``i`` are those from ``ends[i]`` to ``ends[i + 1]``.

    *Shape:* losses (sentences,); of each matrix the inputs (pieces, in) and deltas (pieces, out);
    the gradient of each vector (sentences, width).
    """

    losses: Tensor
    ends: tuple[int, ...]
    matrices: dict[str, tuple[Tensor, Tensor]]
    vectors: dict[str, Tensor]

    def matrix_of(self, name: str, sentences: range) -> tuple[Tensor, Tensor]:
        """The inputs and deltas of neighboring sentences."""
        pieces = slice(self.ends[sentences.start], self.ends[sentences.stop])
        inputs, deltas = self.matrices[name]
        return inputs[pieces], deltas[pieces]


def traceable_layers(tagger: Tagger) -> dict[str, nn.Linear | nn.LayerNorm]:
    """The layers with something to train that can be recorded, by name."""
    trainable = {id(weight) for weight in tagger.trainable.values()}
    return {
        name: module
        for name, module in tagger.network.named_modules()
        if isinstance(module, nn.Linear | nn.LayerNorm)
        and any(id(parameter) in trainable for parameter in module.parameters(recurse=False))
    }


def untraceable_weight(tagger: Tagger) -> str | None:
    """The name of a trainable weight whose gradient cannot be recorded, if there is one."""
    known = {
        id(parameter)
        for module in traceable_layers(tagger).values()
        for parameter in module.parameters(recurse=False)
    }
    return next((n for n, weight in tagger.trainable.items() if id(weight) not in known), None)


class GradientRecorder:
    """Sends labeled sentences through a tagger, forward and back."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self._modules = traceable_layers(tagger)
        self._own = threading.local()  # the watch of each thread

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Where sentences can be recorded, by several threads too. Meanwhile no gradients are asked
        of the weights.
        """
        handles = []
        for name, module in self._modules.items():

            def see(module: Any, inputs: Any, output: Tensor, name: str = name) -> Tensor:  # noqa: ANN401
                watch: _TraceBuilder = self._own.watch
                return watch.see(name, module, inputs[0], output)

            handles.append(module.register_forward_hook(see))
        try:
            with _still(self._tagger):
                yield
        finally:
            for handle in handles:
                handle.remove()

    def record(self, examples: Sequence[Example], *, max_weight: float) -> LayerTrace:
        """Record the sentences, the loss of each on its own, where it listens; dropout is as the
        network is set.
        """
        batch = self._tagger.batch(examples)
        if batch.tag_ids is None:
            raise DataError("expected labeled sentences to learn from, found unlabeled ones")
        lengths = torch.tensor([example.n_pieces for example in examples])
        watch = self._own.watch = _TraceBuilder(batch, lengths.to(self._tagger.device))
        with torch.enable_grad():
            losses = sentence_losses(
                self._tagger.logits(batch),
                batch.tag_ids,
                batch.sentence_of_word,
                batch.n_sentences,
                max_weight=max_weight,
            )
            torch.autograd.grad(losses.sum(), watch.lowest, allow_unused=True)
            watch.lowest.clear()  # they point back to it
        return LayerTrace(
            losses=losses.detach(),
            ends=(0, *lengths.cumsum(0).tolist()),
            matrices=self._in_order(watch.matrices),
            vectors=self._in_order(watch.vectors),
        )

    def _in_order(self, found: dict[str, _T]) -> dict[str, _T]:
        """By the order of the layers; they were found from the last to the first."""
        names = [f"{name}.{part}" for name in self._modules for part in ("weight", "bias")]
        return {name: found[name] for name in names if name in found}


class _TraceBuilder:
    """Keeps what the layers see of a batch while it goes through them, forward and back; padding
    is dropped at once, since memory is what this costs most.
    """

    def __init__(self, batch: TaggerBatch, lengths: Tensor) -> None:
        self._shape = batch.piece_ids.shape
        self._kept = batch.attention.flatten().nonzero()[:, 0]  # (pieces,)
        self._lengths = lengths
        self._seen: set[str] = set()
        self._inputs: list[tuple[weakref.ref[Tensor], Tensor]] = []
        self.lowest: list[Tensor] = []
        """Outputs of the lowest layers, where gradients end."""
        self.matrices: dict[str, tuple[Tensor, Tensor]] = {}
        self.vectors: dict[str, Tensor] = {}

    def see(self, name: str, module: nn.Linear | nn.LayerNorm, x: Tensor, output: Tensor) -> Tensor:
        """Keep a layer's input, and its deltas when they come; the output to go on with."""
        if name in self._seen or x.shape[:2] != self._shape:
            raise UnsupportedLayer
        self._seen.add(name)
        if not output.requires_grad:
            output = output.detach().requires_grad_()
            self.lowest.append(output)
        inputs = self._input(x)

        def see_deltas(padded: Tensor) -> None:
            deltas = self._without_padding(padded)
            if module.bias is not None:
                self.vectors[f"{name}.bias"] = _sums(deltas, self._lengths)
            if isinstance(module, nn.Linear):
                self.matrices[f"{name}.weight"] = (inputs, deltas)
            else:
                normed = functional.layer_norm(
                    inputs, module.normalized_shape, None, None, module.eps
                )
                self.vectors[f"{name}.weight"] = _sums(deltas * normed, self._lengths)

        output.register_hook(see_deltas)  # type: ignore[no-untyped-call]
        return output

    def _input(self, x: Tensor) -> Tensor:
        """An input without padding; layers with the same input share it."""
        for known, inputs in self._inputs:
            if known() is x:
                return inputs
        inputs = self._without_padding(x.detach())
        self._inputs.append((weakref.ref(x), inputs))
        return inputs

    def _without_padding(self, padded: Tensor) -> Tensor:
        """*Shape:* (sentences, pieces, width), result (pieces, width)."""
        return padded.flatten(0, 1).index_select(0, self._kept)


def _sums(values: Tensor, lengths: Tensor) -> Tensor:
    """The sums over each sentence's pieces. *Shape:* (pieces, width), result (sentences, width)."""
    return torch.segment_reduce(values, "sum", lengths=lengths)


@contextlib.contextmanager
def _still(tagger: Tagger) -> Iterator[None]:
    """Ask no gradients of the weights."""
    weights = list(tagger.trainable.values())
    for weight in weights:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(True)


def clip_deltas(inputs: Tensor, deltas: Tensor, clip_norm: float | None) -> None:
    """Shorten gradients ``deltas.T @ inputs`` that are longer than allowed, by their deltas; their
    norms follow from the products of their pieces. *Shape:* (..., pieces, in), (..., pieces, out).
    """
    if clip_norm is None:
        return
    products = (deltas @ deltas.mT) * (inputs @ inputs.mT)  # (..., pieces, pieces)
    norms = products.sum(dim=(-2, -1), keepdim=True).clamp_(min=0).sqrt_()
    deltas *= torch.clamp(clip_norm / (norms + 1e-6), max=1.0)
