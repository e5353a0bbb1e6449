"""Leaves padding out of matrix products.

The sentences of a batch are padded to the longest one. Most of the time goes into linear layers,
which read every piece alone, so the rows of the padding need not go through them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_MIN_PADDING = 0.1  # share of a batch below which packing costs more than it saves


def packed_linear_layers(attention: Tensor) -> AbstractContextManager[object]:
    """Inside the block, in this thread, linear layers leave out the padding of a batch; they
    return zeros for it.

    ``attention`` is 1 for pieces and 0 for padding. On other devices than a CPU, and for batches
    with little padding, nothing is changed. *Shape:* (windows, pieces).
    """
    if attention.device.type != "cpu":
        return nullcontext()
    pieces = attention.flatten().nonzero()[:, 0]
    if len(pieces) > (1 - _MIN_PADDING) * attention.numel():
        return nullcontext()
    return _PackedLinearLayers(pieces, attention.shape)


class _PackedLinearLayers(TorchFunctionMode):
    """Takes the place of ``torch.nn.functional.linear`` where its input is the whole batch."""

    def __init__(self, pieces: Tensor, shape: torch.Size) -> None:
        super().__init__()
        self._pieces = pieces
        self._shape = shape

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - any function of torch
        if func is functional.linear and not kwargs and self._is_batch(args[0]):
            x, weight, *bias = args
            return _PackedProduct.apply(self._pieces, x, weight, *(bias or (None,)))  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))

    def _is_batch(self, x: Tensor) -> bool:
        return x.dim() == 3 and x.shape[:2] == self._shape


class _PackedProduct(torch.autograd.Function):
    """The product of the rows that are pieces; the other rows are zero, and so are their
    gradients.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - of torch
        pieces: Tensor,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        rows = x.flatten(0, 1).index_select(0, pieces)  # (pieces, in)
        needs_rows = weight.requires_grad
        ctx.save_for_backward(pieces, rows if needs_rows else None, weight)
        ctx.shape = x.shape[:2]
        return _unpacked(functional.linear(rows, weight, bias), pieces, ctx.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        pieces, rows, weight = ctx.saved_tensors
        deltas = gradients[0].flatten(0, 1).index_select(0, pieces)  # (pieces, out)
        _, needs_input, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            None,
            _unpacked(deltas @ weight, pieces, ctx.shape) if needs_input else None,
            deltas.T @ rows if needs_weight else None,
            deltas.sum(dim=0) if needs_bias else None,
        )


def _unpacked(rows: Tensor, pieces: Tensor, shape: tuple[int, int]) -> Tensor:
    """*Shape:* (pieces, width), result (*shape, width)."""
    padded = rows.new_zeros(shape[0] * shape[1], rows.shape[1])
    return padded.index_copy_(0, pieces, rows).view(*shape, -1)
