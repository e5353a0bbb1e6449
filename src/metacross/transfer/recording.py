"""Records what the trainable layers see of sentences, out of which every gradient can be made.

For a linear layer the gradient of its weights is ``delta.T @ x``, of the inputs ``x`` it saw and
the gradients ``delta`` at its outputs; both belong to single pieces, so many sentences go through
the network together and each can still have its own gradient. Only deltas are asked of autograd.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from metacross.errors import DataError
from metacross.model.losses import sentence_losses
from metacross.model.tagger import Example, Tagger, TaggerBatch


class UnsharedLayer(Exception):  # noqa: N818 - a finding, not a failure
    """A layer reads something else than the pieces of the sentences, once a pass."""


@dataclass(frozen=True, slots=True)
class Recording:
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
        """The inputs and deltas of neighbouring sentences."""
        pieces = slice(self.ends[sentences.start], self.ends[sentences.stop])
        inputs, deltas = self.matrices[name]
        return inputs[pieces], deltas[pieces]


def recordable(tagger: Tagger) -> dict[str, nn.Linear | nn.LayerNorm]:
    """The layers with something to train that can be recorded, by name."""
    trainable = {id(weight) for weight in tagger.trainable.values()}
    return {
        name: module
        for name, module in tagger.network.named_modules()
        if isinstance(module, nn.Linear | nn.LayerNorm)
        and any(id(parameter) in trainable for parameter in module.parameters(recurse=False))
    }


def unrecordable(tagger: Tagger) -> str | None:
    """The name of a trainable weight whose gradient cannot be recorded, if there is one."""
    known = {
        id(parameter)
        for module in recordable(tagger).values()
        for parameter in module.parameters(recurse=False)
    }
    return next((n for n, weight in tagger.trainable.items() if id(weight) not in known), None)


class Recorder:
    """Sends labelled sentences through a tagger, forward and back."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self._modules = recordable(tagger)

    def record(self, examples: Sequence[Example], *, max_weight: float) -> Recording:
        """Record the sentences, the loss of each on its own; dropout is as the network is set."""
        batch = self._tagger.batch(examples)
        if batch.tag_ids is None:
            raise DataError("expected labelled sentences to learn from, found unlabelled ones")
        with torch.enable_grad(), _still(self._tagger), self._watched(batch) as seen:
            losses = sentence_losses(
                self._tagger.logits(batch),
                batch.tag_ids,
                batch.sentence_of_word,
                batch.n_sentences,
                max_weight=max_weight,
            )
            outputs = [own.output for own in seen.values()]
            deltas = torch.autograd.grad(losses.sum(), outputs, allow_unused=True)
        layers = self._without_padding(batch, seen, deltas)
        lengths = torch.tensor([example.n_pieces for example in examples])
        return Recording(
            losses=losses.detach(),
            ends=(0, *lengths.cumsum(0).tolist()),
            matrices={
                f"{name}.weight": layer
                for name, layer in layers.items()
                if isinstance(self._modules[name], nn.Linear)
            },
            vectors=self._vectors(layers, lengths.to(self._tagger.device)),
        )

    @contextlib.contextmanager
    def _watched(self, batch: TaggerBatch) -> Iterator[dict[str, _Seen]]:
        """Collect what the layers see in the block. Where gradients end, at the lowest of them, an
        output is made to ask for its own.
        """
        seen: dict[str, _Seen] = {}
        handles = []
        for name, module in self._modules.items():

            def see(_m: nn.Module, inputs: Any, output: Tensor, name: str = name) -> Tensor:  # noqa: ANN401
                if name in seen or inputs[0].shape[:2] != batch.piece_ids.shape:
                    raise UnsharedLayer
                if not output.requires_grad:
                    output = output.detach().requires_grad_()
                seen[name] = _Seen(inputs[0].detach(), output)
                return output

            handles.append(module.register_forward_hook(see))
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()

    def _without_padding(
        self, batch: TaggerBatch, seen: Mapping[str, _Seen], deltas: Sequence[Tensor | None]
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Inputs and deltas of each layer; layers with the same input share it."""
        kept = batch.attention.flatten().nonzero()[:, 0]  # (pieces,)
        inputs: dict[object, Tensor] = {}
        layers = {}
        for (name, own), delta in zip(seen.items(), deltas, strict=True):
            if delta is None:
                continue
            key = (own.input.data_ptr(), own.input.shape, own.input.stride())
            if key not in inputs:
                inputs[key] = own.input.flatten(0, 1).index_select(0, kept)
            layers[name] = (inputs[key], delta.flatten(0, 1).index_select(0, kept))
        return layers

    def _vectors(
        self, layers: Mapping[str, tuple[Tensor, Tensor]], lengths: Tensor
    ) -> dict[str, Tensor]:
        """The gradients of biases and LayerNorms. *Shape:* each (sentences, width)."""
        vectors = {}
        for name, (inputs, deltas) in layers.items():
            module = self._modules[name]
            if module.bias is not None:
                vectors[f"{name}.bias"] = _sums(deltas, lengths)
            if isinstance(module, nn.LayerNorm):
                normed = functional.layer_norm(
                    inputs, module.normalized_shape, None, None, module.eps
                )
                vectors[f"{name}.weight"] = _sums(deltas * normed, lengths)
        return vectors


@dataclass(frozen=True, slots=True)
class _Seen:
    input: Tensor
    output: Tensor


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
