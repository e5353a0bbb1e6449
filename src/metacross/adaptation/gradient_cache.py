"""Keeps what source sentences contribute to gradients, in memory that is made once."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from metacross.adaptation.gradient_recorder import GradientRecorder, LayerTrace
from metacross.adaptation.threads import Workers
from metacross.model.tagger import Example, Tagger

_RECORDED_AT_ONCE = 56 * 2**20  # bytes of what is recorded of sentences together, in each thread
_MOST_PIECES = 512  # of sentences recorded together


class GradientCache:
    """The recordings of the source sentences used last: a pool with a slot for each piece."""

    def __init__(self, tagger: Tagger, *, max_weight: float, memory_bytes: int) -> None:
        self._device = tagger.device
        self._recorder = GradientRecorder(tagger)
        self._max_weight = max_weight
        self._memory_bytes = memory_bytes
        self._layout: _Layout | None = None
        self._pool = _Pool({}, {}, [])
        self._slots: OrderedDict[int, Tensor] = OrderedDict()
        self._vectors: dict[int, Tensor] = {}
        self.n_recorded = 0
        """Sentences recorded so far, again where they had been given up."""

    @property
    def n_bytes(self) -> int:
        """The memory of the pool."""
        pools = (*self._pool.inputs.values(), *self._pool.deltas.values())
        return sum(own[1:].nbytes for own in pools)

    def n_room(self, example: Example) -> int:
        """How many pieces of source sentences, such as the example, can be held at once."""
        return self._memory_bytes // self._laid_out(example).piece_bytes

    def hold(self, examples: Mapping[int, Example], workers: Workers) -> None:
        """Have all these source sentences recorded; of the others the longest unused ones go."""
        n_pieces = sum(example.n_pieces for example in examples.values())
        if n_pieces > self._pool.n_slots:
            self._make_pool(n_pieces, self._laid_out(next(iter(examples.values()))))
        missing = {p: e for p, e in examples.items() if p not in self._slots}
        for position in examples.keys() - missing.keys():
            self._slots.move_to_end(position)
        n_missing = sum(example.n_pieces for example in missing.values())
        while len(self._pool.free) < n_missing:
            position, slots = self._slots.popitem(last=False)
            del self._vectors[position]
            self._pool.free.extend(slots.tolist())
        self._record(missing, self._pool.free[len(self._pool.free) - n_missing :], workers)

    def _laid_out(self, example: Example) -> _Layout:
        """The sizes of a trace, learned from any source sentence."""
        if self._layout is None:
            with self._recorder.recording():
                trace = self._recorder.record([example], max_weight=self._max_weight)
            self._layout = _layout_of(trace)
        return self._layout

    def _make_pool(self, n_least: int, layout: _Layout) -> None:
        n_slots = max(n_least, self._memory_bytes // layout.piece_bytes)  # one support must fit
        self._slots.clear()
        self._vectors.clear()
        self._pool = _Pool(
            inputs={n: self._empty(n_slots + 1, width) for n, width in layout.inputs.items()},
            deltas={n: self._empty(n_slots + 1, width) for n, width in layout.deltas.items()},
            free=list(range(n_slots, 0, -1)),  # slot 0 stays empty, for padding
        )

    def _empty(self, n_rows: int, width: int) -> Tensor:
        rows = torch.empty(n_rows, width, device=self._device)
        rows[0] = 0
        return rows

    def _record(
        self, examples: Mapping[int, Example], free: Sequence[int], workers: Workers
    ) -> None:
        """Record sentences into as many free slots; nothing is held until all are there."""
        most = min(_MOST_PIECES, _RECORDED_AT_ONCE // self._known_layout.piece_bytes)
        batches = list(_batches(examples, workers.n, most))
        parts = list(zip(batches, self._slots_of(batches, examples, free), strict=True))

        def recorded(part: tuple[Sequence[int], Sequence[Tensor]]) -> Tensor:
            own = [examples[position] for position in part[0]]
            trace = self._recorder.record(own, max_weight=self._max_weight)
            return self._write(trace, torch.cat(list(part[1])))

        with self._recorder.recording():
            vectors = list(workers.each(recorded, parts))
        for (batch, slots), own in zip(parts, vectors, strict=True):
            self._slots.update(zip(batch, slots, strict=True))
            self._vectors.update((p, row.clone()) for p, row in zip(batch, own, strict=True))
        del self._pool.free[len(self._pool.free) - len(free) :]
        self.n_recorded += len(examples)

    def _slots_of(
        self, batches: Sequence[Sequence[int]], examples: Mapping[int, Example], free: Sequence[int]
    ) -> Iterator[list[Tensor]]:
        """Share slots out among the sentences of batches. *Shape:* each (pieces,)."""
        slots = torch.tensor(free, device=self._device)
        for batch in batches:
            n_pieces = [examples[position].n_pieces for position in batch]
            *own, slots = torch.split(slots, [*n_pieces, len(slots) - sum(n_pieces)])
            yield own

    def _write(self, trace: LayerTrace, slots: Tensor) -> Tensor:
        """Copy matrices to their slots; vectors are returned. *Shape:* (sentences, widths)."""
        for name, (inputs, deltas) in trace.matrices.items():
            if name in self._pool.inputs:
                self._pool.inputs[name].index_copy_(0, slots, inputs)
            self._pool.deltas[name].index_copy_(0, slots, deltas)
        return torch.cat(list(trace.vectors.values()), dim=1)

    def slots(self, supports: Sequence[Sequence[int]]) -> Tensor:
        """Where the pieces of supports lie, each given by the positions of its sentences.

        *Shape:* (supports, pieces), padded with a slot of zeros.
        """
        own = [torch.cat([self._slots[position] for position in support]) for support in supports]
        return pad_sequence(own, batch_first=True)

    def matrix(self, name: str, slots: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs and deltas of a linear layer's weight, for pieces in these slots.

        *Shape:* (supports, pieces, in) and (supports, pieces, out).
        """
        layout = self._known_layout
        inputs = functional.embedding(slots, self._pool.inputs[layout.input_of[name]])
        return inputs, functional.embedding(slots, self._pool.deltas[name])

    def vectors(self, supports: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """The gradients of vectors, of the mean losses of supports. *Shape:* (supports, width)."""
        means = [torch.stack([self._vectors[p] for p in own]).mean(dim=0) for own in supports]
        widths = self._known_layout.vectors
        parts = torch.split(torch.stack(means), list(widths.values()), dim=1)
        return dict(zip(widths, parts, strict=True))

    @property
    def weight_names(self) -> list[str]:
        """The matrices and vectors with gradients."""
        return [*self._known_layout.deltas, *self._known_layout.vectors]

    @property
    def _known_layout(self) -> _Layout:
        if self._layout is None:
            raise ValueError("nothing was recorded yet")
        return self._layout


@dataclass(frozen=True, slots=True)
class _Layout:
    """The widths of a trace, by the names of the weights.

    ``input_of`` has, for each matrix, the name under which its inputs are kept.
    """

    input_of: dict[str, str]
    inputs: dict[str, int]
    deltas: dict[str, int]
    vectors: dict[str, int]

    @property
    def piece_bytes(self) -> int:
        return 4 * (sum(self.inputs.values()) + sum(self.deltas.values()))


@dataclass(frozen=True, slots=True)
class _Pool:
    """*Shape:* each (slots, width)."""

    inputs: dict[str, Tensor]
    deltas: dict[str, Tensor]
    free: list[int]

    @property
    def n_slots(self) -> int:
        return min((len(own) - 1 for own in self.inputs.values()), default=0)


def _layout_of(trace: LayerTrace) -> _Layout:
    matrices = trace.matrices
    names: dict[int, str] = {}
    for name, (inputs, _) in matrices.items():
        names.setdefault(id(inputs), name)
    return _Layout(
        input_of={name: names[id(inputs)] for name, (inputs, _) in matrices.items()},
        inputs={name: matrices[name][0].shape[1] for name in names.values()},
        deltas={name: deltas.shape[1] for name, (_, deltas) in matrices.items()},
        vectors={name: own.shape[1] for name, own in trace.vectors.items()},
    )


def _batches(examples: Mapping[int, Example], n_workers: int, most: int) -> Iterator[list[int]]:
    """Positions of sentences of like lengths, at most about so many pieces in each batch, and as
    many batches for each worker.
    """
    batch: list[int] = []
    n_pieces = 0
    n_all = sum(example.n_pieces for example in examples.values())
    share = n_all / n_workers
    wanted = share / max(1, math.ceil(share / max(1, most)))
    for position in sorted(examples, key=lambda p: examples[p].n_pieces):
        if batch and n_pieces >= wanted:
            yield batch
            batch, n_pieces = [], 0
        batch.append(position)
        n_pieces += examples[position].n_pieces
    if batch:
        yield batch
