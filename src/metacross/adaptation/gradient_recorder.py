"""Records the inputs and output gradients of layers, from which every weight gradient follows.

The gradient of a linear layer's weights is ``delta.T @ x``, with the inputs ``x`` and the gradients
``delta`` at its outputs. Both belong to single pieces, so a batch of sentences can go through the
network together and each still has its own gradient. Autograd only computes the deltas.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from metacross.adaptation.norm_layers import NormLayer, norm_layer
from metacross.errors import DataError
from metacross.model.losses import sentence_losses
from metacross.model.tagger import Example, Tagger, TaggerBatch

_T = TypeVar("_T")


class UnsupportedLayer(Exception):  # noqa: N818 - not an error: the textbook loop takes over
    """A layer reads something other than the pieces of the sentences, or reads them twice."""


@dataclass(frozen=True, slots=True)
class LayerTrace:
    """Inputs and output gradients of the layers for some sentences, by weight name, unpadded.

    The pieces of sentence ``i`` are those from ``ends[i]`` up to ``ends[i + 1]``.

    ``shared`` holds what linear layers compute once for all sentences, such as DeBERTa's position
    projections. Only its sum over the sentences is known, and their bias gradients are divided
    equally among the sentences: record a sentence alone to get its part.

    *Shape:* losses (sentences,); of each matrix the inputs (pieces, in) and deltas (pieces, out),
    of each shared one (rows, in) and (rows, out); the gradient of each vector (sentences, width).
    """

    losses: Tensor
    ends: tuple[int, ...]
    matrices: dict[str, tuple[Tensor, Tensor]]
    shared: dict[str, tuple[Tensor, Tensor]]
    vectors: dict[str, Tensor]

    @property
    def matrix_names(self) -> list[str]:
        """The names of the weights of linear layers."""
        return [*dict.fromkeys((*self.matrices, *self.shared))]

    def matrix(self, name: str) -> tuple[Tensor, Tensor]:
        """All inputs and deltas of a linear layer's weight; the gradient of the sum of the losses
        is ``deltas.T @ inputs``.
        """
        parts = [part[name] for part in (self.matrices, self.shared) if name in part]
        if len(parts) == 1:
            return parts[0]
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


@dataclass(frozen=True, slots=True)
class TraceableLayer:
    """A layer whose gradients can be recorded; ``norm`` is None if it is linear. ``weight_learns``
    and ``bias_learns`` say which of its weights are trainable.
    """

    module: nn.Module
    norm: NormLayer | None
    weight_learns: bool
    bias_learns: bool

    @property
    def weight(self) -> Tensor:
        """The matrix of a linear layer, or the scales of a norm."""
        return self.module.get_parameter("weight").detach()

    @property
    def bias(self) -> Tensor | None:
        """The bias; None if it adds none."""
        bias: Tensor | None = getattr(self.module, "bias", None)
        return None if bias is None else bias.detach()


def traceable_layers(tagger: Tagger) -> dict[str, TraceableLayer]:
    """The layers with trainable weights whose gradients can be recorded, by name: linear layers,
    LayerNorms and RMSNorms.
    """
    trainable = {id(weight) for weight in tagger.trainable.values()}
    layers: dict[str, TraceableLayer] = {}
    for name, module in tagger.network.named_modules():
        learning = {
            part
            for part, parameter in module.named_parameters(recurse=False)
            if id(parameter) in trainable
        }
        norm = norm_layer(module)
        if learning and (norm is not None or isinstance(module, nn.Linear)):
            layers[name] = TraceableLayer(module, norm, "weight" in learning, "bias" in learning)
    return layers


def untraceable_weight(tagger: Tagger) -> str | None:
    """The name of a trainable weight whose gradient cannot be recorded; None if there is none."""
    traceable = {
        id(parameter)
        for layer in traceable_layers(tagger).values()
        for parameter in layer.module.parameters(recurse=False)
    }
    return next((n for n, weight in tagger.trainable.items() if id(weight) not in traceable), None)


class GradientRecorder:
    """Runs labeled sentences through a tagger, forward and backward, and records its layers."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self._layers = traceable_layers(tagger)
        self._thread = threading.local()  # each thread builds its own trace

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Inside the block sentences can be recorded, by several threads too; the weights
        themselves need no gradients.
        """
        handles = []
        for name, layer in self._layers.items():

            def hook(_module: Any, inputs: Any, output: Tensor, name: str = name) -> Tensor:  # noqa: ANN401
                builder: _TraceBuilder | None = getattr(self._thread, "builder", None)
                if builder is None:
                    return output
                return builder.add_layer(name, self._layers[name], inputs[0], output)

            handles.append(layer.module.register_forward_hook(hook))
        try:
            with _without_weight_gradients(self._tagger):
                yield
        finally:
            for handle in handles:
                handle.remove()

    def record(self, examples: Sequence[Example], *, max_weight: float) -> LayerTrace:
        """Record the gradients of each sentence's loss, inside a ``recording`` block. Dropout is
        on or off as in the network.
        """
        batch = self._tagger.batch(examples)
        if batch.tag_ids is None:
            raise DataError("expected labeled sentences to learn from, found unlabeled ones")
        lengths = torch.tensor([example.n_pieces for example in examples])
        builder = self._thread.builder = _TraceBuilder(batch, lengths.to(self._tagger.device))
        with torch.enable_grad():
            losses = sentence_losses(
                self._tagger.logits(batch),
                batch.tag_ids,
                batch.sentence_of_word,
                batch.n_sentences,
                max_weight=max_weight,
            )
            torch.autograd.grad(losses.sum(), builder.lowest, allow_unused=True)
            builder.lowest.clear()  # breaks a reference cycle
        self._thread.builder = None
        return LayerTrace(
            losses=losses.detach(),
            ends=(0, *lengths.cumsum(0).tolist()),
            matrices=self._in_order(builder.matrices),
            shared=self._in_order(builder.shared),
            vectors=self._in_order(builder.vectors),
        )

    def _in_order(self, by_name: dict[str, _T]) -> dict[str, _T]:
        """Sorted by the order of the layers; the backward pass adds the last layer first."""
        names = [f"{name}.{part}" for name in self._layers for part in ("weight", "bias")]
        return {name: by_name[name] for name in names if name in by_name}


class _TraceBuilder:
    """Collects inputs and output gradients of the layers while a batch goes through them. Padding
    is removed at once to save memory.
    """

    def __init__(self, batch: TaggerBatch, lengths: Tensor) -> None:
        self._shape = batch.piece_ids.shape
        self._unpadded = batch.attention.flatten().nonzero()[:, 0]  # (pieces,)
        self._lengths = lengths
        self._sentence_of_window = lengths.new_zeros(len(batch.piece_ids))  # (windows,)
        self._sentence_of_window[batch.window_of_word] = batch.sentence_of_word
        self._layers: set[tuple[str, bool]] = set()
        self._inputs: list[tuple[weakref.ref[Tensor], Tensor]] = []
        self.lowest: list[Tensor] = []
        """Outputs of the lowest recorded layers, where the backward pass ends."""
        self.matrices: dict[str, tuple[Tensor, Tensor]] = {}
        self.shared: dict[str, tuple[Tensor, Tensor]] = {}
        self.vectors: dict[str, Tensor] = {}

    def add_layer(self, name: str, layer: TraceableLayer, x: Tensor, output: Tensor) -> Tensor:
        """Record a layer's input, and its deltas in the backward pass; returns its output."""
        per_head = layer.norm is not None and x.dim() == 4 and len(x) == self._shape[0]
        per_piece = x.shape[:2] == self._shape and (name, False) not in self._layers
        is_shared = not per_piece and layer.norm is None and x.dim() == 3 and len(x) == 1
        if (name, is_shared) in self._layers or not (per_head or per_piece or is_shared):
            raise UnsupportedLayer
        if is_shared and not layer.weight_learns:
            raise UnsupportedLayer  # its bias alone would not show that it is shared
        self._layers.add((name, is_shared))
        if not output.requires_grad:
            output = output.detach().requires_grad_()
            self.lowest.append(output)
        if layer.norm is not None and per_head:
            hook = self._head_norm_hook(name, layer.norm, x.detach())
        elif is_shared:
            hook = self._shared_hook(name, layer, x.detach()[0])
        else:
            hook = self._hook(name, layer, self._input(x))
        output.register_hook(hook)  # type: ignore[no-untyped-call]
        return output

    def _hook(self, name: str, layer: TraceableLayer, inputs: Tensor) -> Callable[[Tensor], None]:
        def add_deltas(padded: Tensor) -> None:
            deltas = self._without_padding(padded)
            if layer.bias_learns:
                self._add_to_vector(f"{name}.bias", _sums(deltas, self._lengths))
            if not layer.weight_learns:
                return
            if layer.norm is None:
                self.matrices[f"{name}.weight"] = (inputs, deltas)
            else:
                products = deltas * layer.norm.normalized(inputs)
                self._add_to_vector(f"{name}.weight", _sums(products, self._lengths))

        return add_deltas

    def _shared_hook(
        self, name: str, layer: TraceableLayer, inputs: Tensor
    ) -> Callable[[Tensor], None]:
        """For a linear layer that reads something once for all sentences. *Shape:* (rows, in)."""

        def add_deltas(deltas: Tensor) -> None:
            is_used = deltas[0].any(dim=1)  # (rows,): distances that occur in the sentences
            if layer.weight_learns:
                self.shared[f"{name}.weight"] = (inputs[is_used], deltas[0, is_used])
            if layer.bias_learns:
                mean = deltas[0].sum(dim=0) / len(self._lengths)
                self._add_to_vector(f"{name}.bias", mean.repeat(len(self._lengths), 1))

        return add_deltas

    def _add_to_vector(self, name: str, gradients: Tensor) -> None:
        """A layer can be called twice: for the sentences, and once for all of them."""
        earlier = self.vectors.get(name)
        self.vectors[name] = gradients if earlier is None else earlier + gradients

    def _head_norm_hook(
        self, name: str, norm: NormLayer, inputs: Tensor
    ) -> Callable[[Tensor], None]:
        """For a norm inside attention heads, which all share its weights.

        *Shape:* inputs (windows, heads, pieces, width) or (windows, pieces, heads, width). The
        deltas of padding are zero, because no piece attends to it.
        """

        def add_deltas(deltas: Tensor) -> None:
            of_windows = (deltas * norm.normalized(inputs)).sum(dim=(1, 2))  # (windows, width)
            of_sentences = of_windows.new_zeros(len(self._lengths), of_windows.shape[1])
            of_sentences.index_add_(0, self._sentence_of_window, of_windows)
            self._add_to_vector(f"{name}.weight", of_sentences)

        return add_deltas

    def _input(self, x: Tensor) -> Tensor:
        """An input without padding; layers with the same input share one tensor."""
        for reference, inputs in self._inputs:
            if reference() is x:
                return inputs
        inputs = self._without_padding(x.detach())
        self._inputs.append((weakref.ref(x), inputs))
        return inputs

    def _without_padding(self, padded: Tensor) -> Tensor:
        """*Shape:* (sentences, pieces, width), result (pieces, width)."""
        return padded.flatten(0, 1).index_select(0, self._unpadded)


def _sums(values: Tensor, lengths: Tensor) -> Tensor:
    """The sums over each sentence's pieces. *Shape:* (pieces, width), result (sentences, width)."""
    return torch.segment_reduce(values, "sum", lengths=lengths)


@contextlib.contextmanager
def _without_weight_gradients(tagger: Tagger) -> Iterator[None]:
    """Inside the block autograd computes no gradients of the weights."""
    weights = [weight for weight in tagger.network.parameters() if weight.requires_grad]
    for weight in weights:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(True)


def clip_deltas(inputs: Tensor, deltas: Tensor, clip_norm: float | None) -> None:
    """Clip gradients ``deltas.T @ inputs`` to a norm by scaling the deltas; the norm follows from
    the Gram matrices of both. *Shape:* (..., pieces, in), (..., pieces, out).
    """
    if clip_norm is None:
        return
    products = (deltas @ deltas.mT) * (inputs @ inputs.mT)  # (..., pieces, pieces)
    norms = products.sum(dim=(-2, -1), keepdim=True).clamp_(min=0).sqrt_()
    deltas *= torch.clamp(clip_norm / (norms + 1e-6), max=1.0)
