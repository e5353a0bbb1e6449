"""Caches recorded gradients of source sentences in memory of a fixed size, and in files."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from metacross.adaptation.gradient_files import GradientFiles
from metacross.adaptation.gradient_pool import GradientPool, TraceLayout
from metacross.adaptation.gradient_recorder import (
    GradientRecorder,
    LayerTrace,
    UnsupportedLayer,
)
from metacross.adaptation.threads import Workers
from metacross.model.tagger import Example, Tagger

_Matrices: TypeAlias = dict[str, tuple[Tensor, Tensor]]
_BATCH_BYTES = 56 * 2**20  # size of the traces that a thread records together
_MAX_BATCH_PIECES = 512  # pieces of sentences that are recorded together


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The gradients of a source sentence: its inputs and deltas are in slots of the pool.

    *Shape:* slots (pieces,), vectors (widths of all vectors,), squared_norms (matrices,).
    """

    slots: Tensor
    vectors: Tensor
    squared_norms: Tensor
    shared: _Matrices


class GradientCache:
    """The gradients of the most recently used source sentences, by their positions."""

    def __init__(
        self,
        tagger: Tagger,
        *,
        max_weight: float,
        memory_bytes: int,
        with_norms: bool = False,
        files: GradientFiles | None = None,
    ) -> None:
        self._files = files
        self._device = tagger.device
        self._recorder = GradientRecorder(tagger)
        self._max_weight = max_weight
        self._with_norms = with_norms
        self._memory_bytes = memory_bytes
        self._known_layout: TraceLayout | None = None
        self._known_pool: GradientPool | None = None
        self._recorded: OrderedDict[int, _Recorded] = OrderedDict()
        self.n_recorded = 0
        """Number of recorded sentences, counting again those that were evicted before, but not
        those that were read from files.
        """

    @property
    def n_bytes(self) -> int:
        """Size of the pool and of the shared matrices in bytes."""
        shared = (
            part
            for recorded in self._recorded.values()
            for pair in recorded.shared.values()
            for part in pair
        )
        pool_bytes = 0 if self._known_pool is None else self._known_pool.n_bytes
        return pool_bytes + sum(part.nbytes for part in shared)

    @property
    def positions(self) -> list[int]:
        """The source sentences that are in memory, the least recently used first."""
        return list(self._recorded)

    def clear(self) -> None:
        """Forget what was recorded; memory and files are kept."""
        while self._recorded:
            self._evict_oldest()

    def has_shared(self, example: Example) -> bool:
        """Whether layers read something that is shared by all sentences. Such gradients are
        recorded and used for one sentence at a time; ``example`` is any source sentence.
        """
        return bool(self._layout_with(example).shared)

    def n_room(self, example: Example) -> int:
        """How many pieces of source sentences fit in memory; ``example`` is any of them."""
        return self._memory_bytes // self._layout_with(example).piece_bytes

    def hold(self, examples: Mapping[int, Example], workers: Workers) -> None:
        """Record those of the source sentences that are missing; evict the least recently used."""
        if not examples:
            return
        n_pieces = sum(example.n_pieces for example in examples.values())
        n_room = self.n_room(next(iter(examples.values())))
        if self._known_pool is None or n_pieces > self._known_pool.n_slots:
            self._recorded.clear()
            n_slots = max(n_pieces, n_room)  # at least one support fits
            self._known_pool = GradientPool(self._layout, n_slots, self._device)
        for position in examples.keys() & self._recorded.keys():
            self._recorded.move_to_end(position)
        missing = self._missing(examples)
        n_missing = sum(example.n_pieces for example in missing.values())
        while self._pool.n_free < n_missing:
            self._evict_oldest()
        if self._files is not None:
            self._read(missing, self._files, workers)
        missing = self._missing(examples)
        self._record(missing, workers)
        if self._files is not None:
            self._write(missing, self._files)

    def _missing(self, examples: Mapping[int, Example]) -> dict[int, Example]:
        return {p: example for p, example in examples.items() if p not in self._recorded}

    def _evict_oldest(self) -> None:
        _, recorded = self._recorded.popitem(last=False)
        self._pool.give_back(recorded.slots)

    def _read(
        self, examples: Mapping[int, Example], files: GradientFiles, workers: Workers
    ) -> None:
        """Take sentences from the files, where they are kept; there are free slots for all."""

        def read(part: tuple[Example, Tensor]) -> _Recorded | None:
            example, own_slots = part
            tensors = files.read(example)
            if tensors is None:
                return None
            for name, rows in self._pool.named():
                rows.index_copy_(0, own_slots, tensors[name].to(self._device))

            def copied(name: str) -> Tensor:
                return tensors[name].to(self._device, copy=True)

            shared = {
                name: (copied(f"shared inputs {name}"), copied(f"shared deltas {name}"))
                for name in self._layout.shared
            }
            return _Recorded(own_slots, copied("vectors"), copied("norms"), shared)

        with self._pool.taken([example.n_pieces for example in examples.values()]) as slots:
            parts = list(zip(examples.values(), slots, strict=True))
            results = list(workers.each(read, parts))
        for position, own_slots, recorded in zip(examples, slots, results, strict=True):
            if recorded is None:
                self._pool.give_back(own_slots)
            else:
                self._recorded[position] = recorded

    def _write(self, examples: Mapping[int, Example], files: GradientFiles) -> None:
        """Write sentences that were just recorded to files."""
        for position, example in examples.items():
            recorded = self._recorded[position]
            tensors = {name: rows[recorded.slots] for name, rows in self._pool.named()}
            tensors |= {"vectors": recorded.vectors, "norms": recorded.squared_norms}
            for name, (inputs, deltas) in recorded.shared.items():
                tensors |= {f"shared inputs {name}": inputs, f"shared deltas {name}": deltas}
            files.write(example, tensors)

    def _layout_with(self, example: Example) -> TraceLayout:
        """The widths of the layers, found by recording any source sentence."""
        if self._known_layout is None:
            with self._recorder.recording():
                trace = self._recorder.record([example], max_weight=self._max_weight)
            self._known_layout = TraceLayout.of(trace)
        return self._known_layout

    @property
    def _layout(self) -> TraceLayout:
        if self._known_layout is None:
            raise ValueError("nothing has been recorded yet")
        return self._known_layout

    @property
    def _pool(self) -> GradientPool:
        if self._known_pool is None:
            raise ValueError("nothing has been recorded yet")
        return self._known_pool

    def _record(self, examples: Mapping[int, Example], workers: Workers) -> None:
        """Record sentences into free slots; they count as recorded when all are done."""
        max_pieces = min(_MAX_BATCH_PIECES, _BATCH_BYTES // self._layout.piece_bytes)
        batches = list(_batches(examples, workers.n, 1 if self._layout.shared else max_pieces))
        lengths = [examples[position].n_pieces for batch in batches for position in batch]

        def recorded(part: tuple[Sequence[int], Sequence[Tensor]]) -> list[_Recorded]:
            positions, slots = part
            batch = [examples[position] for position in positions]
            trace = self._recorder.record(batch, max_weight=self._max_weight)
            if trace.shared.keys() != self._layout.shared.keys():
                raise UnsupportedLayer
            self._pool.write(trace, torch.cat(list(slots)))
            vectors = torch.cat(list(trace.vectors.values()), dim=1)
            norms = _squared_norms(trace) if self._with_norms else trace.losses
            return [
                _Recorded(own_slots, row.clone(), own_norms.clone(), trace.shared)
                for own_slots, row, own_norms in zip(slots, vectors, norms, strict=True)
            ]

        with self._pool.taken(lengths) as slots, self._recorder.recording():
            rest = iter(slots)
            parts = [(batch, [next(rest) for _ in batch]) for batch in batches]
            results = list(workers.each(recorded, parts))
        for batch, batch_results in zip(batches, results, strict=True):
            self._recorded.update(zip(batch, batch_results, strict=True))
        self.n_recorded += len(examples)

    def slots(self, supports: Sequence[Sequence[int]]) -> Tensor:
        """The slots of the pieces of supports; a support is a list of positions of sentences.

        *Shape:* (supports, pieces), padded with a slot of zeros.
        """
        slots = [torch.cat([self._recorded[p].slots for p in support]) for support in supports]
        return pad_sequence(slots, batch_first=True)

    def slots_by_length(self, supports: Sequence[Sequence[int]]) -> list[Tensor]:
        """The slots of the longest sentence of each support, of the second longest and so on, each
        padded with a slot of zeros. *Shape:* each (supports, pieces).
        """
        none = torch.zeros(0, dtype=torch.long, device=self._device)
        ordered = [
            sorted((self._recorded[p].slots for p in support), key=len, reverse=True)
            for support in supports
        ]
        return [
            pad_sequence(list(rank), batch_first=True)
            for rank in itertools.zip_longest(*ordered, fillvalue=none)
        ]

    def inputs(self, name: str, slots: Tensor) -> Tensor:
        """The inputs of a linear layer's weight for pieces in these slots.

        *Shape:* (supports, pieces), result (supports, pieces, in).
        """
        return self._pool.inputs(name, slots)

    def deltas(self, name: str, slots: Tensor) -> Tensor:
        """Likewise the gradients at its outputs. *Shape:* result (supports, pieces, out)."""
        return self._pool.deltas(name, slots)

    def input_name(self, name: str) -> str:
        """The name under which the inputs of a matrix are stored: layers can share them."""
        return self._layout.input_of[name]

    def has_matrix(self, name: str) -> bool:
        """Whether a linear layer reads the pieces of the sentences."""
        return name in self._layout.deltas

    def shared(self, support: Sequence[int]) -> _Matrices:
        """The inputs and deltas of shared matrices for a support.

        *Shape:* each (rows, in) and (rows, out).
        """
        parts = [self._recorded[position].shared for position in support]
        return {
            name: (
                torch.cat([part[name][0] for part in parts]),
                torch.cat([part[name][1] for part in parts]),
            )
            for name in self._layout.shared
        }

    def vectors(self, supports: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """The gradients of biases and norms for the mean loss of each support.

        *Shape:* each (supports, width).
        """
        sizes = torch.tensor([len(support) for support in supports], device=self._device)
        means = self._sums(supports, lambda recorded: recorded.vectors) / sizes[:, None]
        widths = self._layout.vectors
        parts = torch.split(means, list(widths.values()), dim=1)
        return dict(zip(widths, parts, strict=True))

    def squared_norms(self, supports: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """For each matrix the sum of the squared norms of the gradients of a support's sentences.

        *Shape:* each (supports,).
        """
        sums = self._sums(supports, lambda recorded: recorded.squared_norms)
        return dict(zip(self._layout.deltas, sums.T, strict=True))

    def _sums(
        self, supports: Sequence[Sequence[int]], part: Callable[[_Recorded], Tensor]
    ) -> Tensor:
        """A part of what was recorded, added up for each support. *Shape:* (supports, width)."""
        flat = torch.stack([part(self._recorded[p]) for support in supports for p in support])
        number = [i for i, support in enumerate(supports) for _ in support]
        sums = flat.new_zeros(len(supports), flat.shape[1])
        return sums.index_add_(0, torch.tensor(number, device=self._device), flat)

    @property
    def matrix_names(self) -> list[str]:
        """The names of matrices with gradients."""
        return [*dict.fromkeys((*self._layout.deltas, *self._layout.shared))]

    @property
    def weight_names(self) -> list[str]:
        """The names of matrices and vectors with gradients."""
        return [*self.matrix_names, *self._layout.vectors]


def _squared_norms(trace: LayerTrace) -> Tensor:
    """The squared norms of each sentence's matrix gradients, without what sentences share.

    *Shape:* (sentences, matrices).
    """
    lengths = [end - start for start, end in pairwise(trace.ends)]

    def padded(rows: Tensor) -> Tensor:
        return pad_sequence(list(torch.split(rows, lengths)), batch_first=True)

    grams: dict[int, Tensor] = {}
    norms = []
    for inputs, deltas in trace.matrices.values():
        if id(inputs) not in grams:
            rows = padded(inputs)
            grams[id(inputs)] = torch.bmm(rows, rows.mT)  # (sentences, pieces, pieces)
        rows = padded(deltas)
        norms.append(torch.bmm(rows, rows.mT).mul_(grams[id(inputs)]).sum(dim=(1, 2)))
    return torch.stack(norms, dim=1) if norms else trace.losses.new_zeros(len(lengths), 0)


def _batches(
    examples: Mapping[int, Example], n_workers: int, max_pieces: int
) -> Iterator[list[int]]:
    """Batches of sentences of similar length with about ``max_pieces`` pieces at most, the same
    number of batches for each worker.
    """
    batch: list[int] = []
    n_pieces = 0
    if max_pieces == 1:
        yield from ([position] for position in examples)
        return
    n_all = sum(example.n_pieces for example in examples.values())
    per_worker = n_all / n_workers
    batch_pieces = per_worker / max(1, math.ceil(per_worker / max(1, max_pieces)))
    for position in sorted(examples, key=lambda p: examples[p].n_pieces):
        if batch and n_pieces >= batch_pieces:
            yield batch
            batch, n_pieces = [], 0
        batch.append(position)
        n_pieces += examples[position].n_pieces
    if batch:
        yield batch
