"""Keeps the outputs of frozen layers, which are the same in every training step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from metacross.model.devices import seeded
from metacross.model.encoder import layers_of
from metacross.text.windows import SpecialPieces

PieceIds: TypeAlias = tuple[int, ...]


class FrozenCache:
    """The outputs of a network's frozen layers for windows of pieces, within a memory bound.

    The states of a window do not depend on what else is in its batch or in the cache, so a resumed
    training has the same ones: a window is computed without others. Only windows with masked
    pieces, which differ in every epoch and are never kept, are computed together.

    Use it in one thread.
    """

    def __init__(
        self, network: nn.Module, n_layers: int, special: SpecialPieces, *, memory_bytes: int
    ) -> None:
        self._network = network
        self._layers = list(layers_of(network)[:n_layers])
        self._special = special
        self._memory_bytes = memory_bytes
        self._states: dict[PieceIds, Tensor] = {}
        self._returns_tuples = False
        self.n_bytes = 0
        """Memory in use."""

    def supports(self, window: PieceIds) -> bool:
        """Whether the frozen layers can be skipped: they return nothing but states, and the same
        ones in training, without dropout. It is tried with one window.
        """
        was_training = self._network.training
        outputs = []
        try:
            with seeded(0):
                for training in (False, True, True):
                    self._network.train(training)
                    outputs.append(self._output([window]))
        finally:
            self._network.train(was_training)
        return all(outputs) and all(
            torch.equal(states, outputs[0][0]) and all(part is None for part in others)
            for states, *others in outputs
        )

    def states(self, windows: Sequence[PieceIds]) -> Tensor:
        """The outputs of the frozen layers, zero in padding.

        *Shape:* (windows, pieces of the longest window, width).
        """
        masked = [window for window in windows if self._special.mask in window]
        states = dict(zip(masked, self._computed(masked), strict=True)) if masked else {}
        by_window = [
            states[window] if window in states else self._kept(window) for window in windows
        ]
        return nn.utils.rnn.pad_sequence(by_window, batch_first=True)

    def _kept(self, window: PieceIds) -> Tensor:
        states = self._states.get(window)
        if states is None:
            (states,) = self._computed([window])
            n_bytes = states.numel() * states.element_size()
            if self.n_bytes + n_bytes <= self._memory_bytes:
                self._states[window] = states
                self.n_bytes += n_bytes
        return states

    def _computed(self, windows: Sequence[PieceIds]) -> list[Tensor]:
        """*Shape:* each (pieces, width)."""
        states: Tensor = self._output(windows)[0]
        return [row[: len(window)] for row, window in zip(states, windows, strict=True)]

    @torch.no_grad()
    def _output(self, windows: Sequence[PieceIds]) -> tuple[Any, ...]:
        """What the last frozen layer returns; nothing if it is not a module that is called."""
        device = next(self._network.parameters()).device
        rows = [torch.tensor(window, device=device) for window in windows]
        piece_ids = nn.utils.rnn.pad_sequence(
            rows, batch_first=True, padding_value=self._special.pad
        )
        attention = nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], True)
        outputs: list[Any] = []

        def stop(_layer: nn.Module, _inputs: object, output: object) -> None:
            outputs.append(output)
            raise _StopForwardError

        handle = self._layers[-1].register_forward_hook(stop)
        try:
            with contextlib.suppress(_StopForwardError):
                self._network(input_ids=piece_ids, attention_mask=attention)
        finally:
            handle.remove()
        self._returns_tuples = bool(outputs) and isinstance(outputs[0], tuple)
        return outputs[0] if self._returns_tuples else tuple(outputs)

    @contextlib.contextmanager
    def skipped_layers(self, windows: Sequence[PieceIds]) -> Iterator[None]:
        """Inside the block the frozen layers compute nothing and return the windows' states."""
        states = self.states(windows)

        def forward(*_inputs: object, **_options: object) -> Tensor | tuple[Tensor]:
            return (states,) if self._returns_tuples else states

        for layer in self._layers:
            layer.forward = forward
        try:
            yield
        finally:
            for layer in self._layers:
                del layer.forward


class _StopForwardError(Exception):
    """Ends a forward pass above the frozen layers."""
