"""Hands the outputs of frozen layers from one network to another that shares these layers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor, nn

from metacross.model.encoder import layers_of
from metacross.model.frozen_cache import PieceIds

_MAX_BYTES = 64 * 2**20


class FrozenStates:
    """The outputs of frozen layers for windows of pieces, collected while a network reads them.

    A tagger and its encoder from before training have the same frozen layers. What these give is
    computed once for both, within a memory bound; several threads can use it. Families whose layers
    return more than states are left alone.
    """

    def __init__(self, n_layers: int, *, max_bytes: int = _MAX_BYTES) -> None:
        self._n_layers = n_layers
        self._max_bytes = max_bytes
        self._n_bytes = 0
        self._states: dict[PieceIds, Tensor] = {}
        self._in_thread = threading.local()
        self._empty_parts: list[None] | None = None  # after the states, in a tuple; None: no tuple

    def __len__(self) -> int:
        return len(self._states)

    @contextlib.contextmanager
    def collected(self, encoder: nn.Module) -> Iterator[None]:
        """Inside the block the outputs are kept for all windows that the encoder reads."""
        rows: list[PieceIds] = []

        def before(_encoder: nn.Module, _inputs: object, options: dict[str, Tensor]) -> None:
            lengths = options["attention_mask"].sum(dim=1).tolist()
            pieces = options["input_ids"].tolist()
            rows[:] = [tuple(ids[:n]) for ids, n in zip(pieces, lengths, strict=True)]

        def after(_layer: nn.Module, _inputs: object, output: Any) -> None:  # noqa: ANN401
            states, *others = output if isinstance(output, tuple) else (output,)
            is_known = all(part is None for part in others) and len(states) == len(rows)
            if is_known and self._n_bytes + states.nbytes <= self._max_bytes:
                self._n_bytes += states.nbytes
                self._empty_parts = others if isinstance(output, tuple) else None
                self._states.update(
                    (row, state[: len(row)]) for row, state in zip(rows, states, strict=True)
                )

        last = layers_of(encoder)[self._n_layers - 1]
        hooks = [
            encoder.register_forward_pre_hook(before, with_kwargs=True),
            last.register_forward_hook(after),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextlib.contextmanager
    def used_in(self, network: nn.Module) -> Iterator[None]:
        """Inside the block the frozen layers of a network can be skipped."""
        layers = list(layers_of(network)[: self._n_layers])
        for layer in layers:
            layer.forward = self._forward(layer.forward)
        try:
            yield
        finally:
            for layer in layers:
                del layer.forward

    def skipped_layers(self, windows: Sequence[PieceIds]) -> AbstractContextManager[None]:
        """Inside the block, in this thread, the frozen layers return the states of these windows;
        they compute if one of them is not known.
        """
        if any(window not in self._states for window in windows):
            return contextlib.nullcontext()
        return self._skipping(windows)

    @contextlib.contextmanager
    def _skipping(self, windows: Sequence[PieceIds]) -> Iterator[None]:
        rows = [self._states[window] for window in windows]
        self._in_thread.states = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        try:
            yield
        finally:
            self._in_thread.states = None

    def _forward(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*inputs: object, **options: object) -> Any:  # noqa: ANN401
            states: Tensor | None = getattr(self._in_thread, "states", None)
            if states is None:
                return compute(*inputs, **options)
            return states if self._empty_parts is None else (states, *self._empty_parts)

        return forward
