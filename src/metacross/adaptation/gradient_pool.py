"""Memory for recorded gradients: a slot for each piece of a source sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from metacross.adaptation.gradient_recorder import LayerTrace


@dataclass(frozen=True, slots=True)
class TraceLayout:
    """The widths of the layers of a trace, by the names of their weights.

    ``input_of`` maps each matrix to the name under which its inputs are stored. ``shared`` holds
    the sum of both widths of matrices that are shared by the sentences.
    """

    input_of: Mapping[str, str]
    inputs: Mapping[str, int]
    deltas: Mapping[str, int]
    vectors: Mapping[str, int]
    shared: Mapping[str, int]

    @classmethod
    def of(cls, trace: LayerTrace) -> TraceLayout:
        """The layout of a trace."""
        matrices = trace.matrices
        names: dict[int, str] = {}
        for name, (inputs, _) in matrices.items():
            names.setdefault(id(inputs), name)
        return cls(
            input_of={name: names[id(inputs)] for name, (inputs, _) in matrices.items()},
            inputs={name: matrices[name][0].shape[1] for name in names.values()},
            deltas={name: deltas.shape[1] for name, (_, deltas) in matrices.items()},
            vectors={name: rows.shape[1] for name, rows in trace.vectors.items()},
            shared={name: a.shape[1] + b.shape[1] for name, (a, b) in trace.shared.items()},
        )

    @property
    def piece_bytes(self) -> int:
        """Memory of a piece."""
        shared = 2 * sum(self.shared.values())  # n pieces have less than 2 n distances
        matrices = sum(self.inputs.values()) + sum(self.deltas.values()) + shared
        return 4 * max(matrices, sum(self.vectors.values()))  # a sentence has one set of vectors


class GradientPool:
    """Inputs and deltas of the pieces of source sentences. Slot 0 holds zeros, for padding.

    *Shape:* of each matrix (1 + slots, width).
    """

    def __init__(self, layout: TraceLayout, n_slots: int, device: torch.device) -> None:
        def empty(width: int) -> Tensor:
            rows = torch.empty(n_slots + 1, width, device=device)
            rows[0] = 0
            return rows

        self._device = device
        self._input_of = layout.input_of
        self._inputs = {name: empty(width) for name, width in layout.inputs.items()}
        self._deltas = {name: empty(width) for name, width in layout.deltas.items()}
        self._free = list(range(n_slots, 0, -1))
        self.n_slots = n_slots
        """Number of slots, used and free ones."""

    @property
    def n_free(self) -> int:
        """Number of free slots."""
        return len(self._free)

    @property
    def n_bytes(self) -> int:
        """Memory of the slots."""
        return sum(rows[1:].nbytes for _, rows in self.named())

    def named(self) -> Iterator[tuple[str, Tensor]]:
        """All tensors with names that tell inputs from deltas."""
        yield from ((f"inputs {name}", rows) for name, rows in self._inputs.items())
        yield from ((f"deltas {name}", rows) for name, rows in self._deltas.items())

    @contextlib.contextmanager
    def taken(self, lengths: Sequence[int]) -> Iterator[list[Tensor]]:
        """Free slots for sentences with these numbers of pieces. They stay in use after the block,
        unless it raises. *Shape:* each (pieces,).
        """
        first = len(self._free) - sum(lengths)
        slots = torch.tensor(self._free[first:], device=self._device)
        del self._free[first:]
        try:
            yield list(torch.split(slots, list(lengths)))
        except BaseException:
            self.give_back(slots)
            raise

    def give_back(self, slots: Tensor) -> None:
        """Make slots free again."""
        self._free.extend(slots.tolist())

    def write(self, trace: LayerTrace, slots: Tensor) -> None:
        """Copy the matrices of a trace into slots. *Shape:* (pieces,)."""
        for name, (inputs, deltas) in trace.matrices.items():
            if name in self._inputs:
                self._inputs[name].index_copy_(0, slots, inputs)
            self._deltas[name].index_copy_(0, slots, deltas)

    def inputs(self, name: str, slots: Tensor) -> Tensor:
        """The inputs of a matrix for pieces in these slots.

        *Shape:* (supports, pieces), result (supports, pieces, in).
        """
        return functional.embedding(slots, self._inputs[self._input_of[name]])

    def deltas(self, name: str, slots: Tensor) -> Tensor:
        """Likewise the gradients at its outputs. *Shape:* result (supports, pieces, out)."""
        return functional.embedding(slots, self._deltas[name])
