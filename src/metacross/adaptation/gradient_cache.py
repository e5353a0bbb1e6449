"""Caches recorded gradients of source sentences in a memory pool of fixed size, and in files."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from metacross.adaptation.gradient_files import GradientFiles
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


class GradientCache:
    """The traces of the most recently used source sentences; the pool has a slot per piece."""

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
        self._layout: _Layout | None = None
        self._pool = _Pool({}, {}, 0, [])
        self._slots: OrderedDict[int, Tensor] = OrderedDict()
        self._vectors: dict[int, Tensor] = {}
        self._squared_norms: dict[int, Tensor] = {}
        self._shared: dict[int, _Matrices] = {}
        self.n_recorded = 0
        """Number of recorded sentences, counting again those that were evicted before, but not
        those that were read from files.
        """

    @property
    def n_bytes(self) -> int:
        """Size of the pool and of the shared matrices in bytes."""
        pools = (*self._pool.inputs.values(), *self._pool.deltas.values())
        shared = (part for rows in self._shared.values() for pair in rows.values() for part in pair)
        return sum(pool[1:].nbytes for pool in pools) + sum(part.nbytes for part in shared)

    def clear(self) -> None:
        """Forget what was recorded; memory and files are kept."""
        for recorded in (self._slots, self._vectors, self._squared_norms, self._shared):
            recorded.clear()
        self._pool.free[:] = range(self._pool.n_slots, 0, -1)

    def has_shared(self, example: Example) -> bool:
        """Whether layers read something that is shared by all sentences. Such gradients are
        recorded and used for one sentence at a time; ``example`` is any source sentence.
        """
        return bool(self._laid_out(example).shared)

    def n_room(self, example: Example) -> int:
        """How many pieces of source sentences fit in the pool; ``example`` is any of them."""
        return self._memory_bytes // self._laid_out(example).piece_bytes

    def hold(self, examples: Mapping[int, Example], workers: Workers) -> None:
        """Record those of the source sentences that are missing; evict the least recently used."""
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
            self._squared_norms.pop(position, None)
            self._shared.pop(position, None)
            self._pool.free.extend(slots.tolist())
        self._read(missing)
        missing = {p: e for p, e in missing.items() if p not in self._slots}
        n_missing = sum(example.n_pieces for example in missing.values())
        self._record(missing, self._pool.free[len(self._pool.free) - n_missing :], workers)
        self._keep(missing)

    def _read(self, examples: Mapping[int, Example]) -> None:
        """Take sentences from the files, where they are kept."""
        if self._files is None:
            return
        for position, example in examples.items():
            tensors = self._files.read(example)
            if tensors is None:
                continue
            first = len(self._pool.free) - example.n_pieces
            slots = torch.tensor(self._pool.free[first:], device=self._device)
            del self._pool.free[first:]
            for name, pool in self._pool.named():
                pool.index_copy_(0, slots, tensors[name].to(self._device))
            self._slots[position] = slots
            self._vectors[position] = tensors["vectors"].to(self._device)
            self._squared_norms[position] = tensors["norms"].to(self._device)
            if self._known_layout.shared:
                self._shared[position] = {
                    name: (
                        tensors[f"shared inputs {name}"].to(self._device),
                        tensors[f"shared deltas {name}"].to(self._device),
                    )
                    for name in self._known_layout.shared
                }

    def _keep(self, examples: Mapping[int, Example]) -> None:
        """Write sentences that were just recorded to files."""
        if self._files is None:
            return
        for position, example in examples.items():
            slots = self._slots[position]
            tensors = {name: pool[slots] for name, pool in self._pool.named()}
            tensors |= {"vectors": self._vectors[position], "norms": self._squared_norms[position]}
            for name, (inputs, deltas) in self._shared.get(position, {}).items():
                tensors |= {f"shared inputs {name}": inputs, f"shared deltas {name}": deltas}
            self._files.write(example, tensors)

    def _laid_out(self, example: Example) -> _Layout:
        """The widths of the layers, found by recording any source sentence."""
        if self._layout is None:
            with self._recorder.recording():
                trace = self._recorder.record([example], max_weight=self._max_weight)
            self._layout = _layout_of(trace)
        return self._layout

    def _make_pool(self, min_slots: int, layout: _Layout) -> None:
        n_slots = max(
            min_slots, self._memory_bytes // layout.piece_bytes
        )  # at least one support fits
        self._slots.clear()
        self._vectors.clear()
        self._squared_norms.clear()
        self._shared.clear()
        self._pool = _Pool(
            inputs={n: self._empty(n_slots + 1, width) for n, width in layout.inputs.items()},
            deltas={n: self._empty(n_slots + 1, width) for n, width in layout.deltas.items()},
            n_slots=n_slots,
            free=list(range(n_slots, 0, -1)),  # slot 0 stays empty, for padding
        )

    def _empty(self, n_rows: int, width: int) -> Tensor:
        rows = torch.empty(n_rows, width, device=self._device)
        rows[0] = 0
        return rows

    def _record(
        self, examples: Mapping[int, Example], free: Sequence[int], workers: Workers
    ) -> None:
        """Record sentences into the given free slots; they count as cached when all are done."""
        max_pieces = min(_MAX_BATCH_PIECES, _BATCH_BYTES // self._known_layout.piece_bytes)
        if self._known_layout.shared:
            max_pieces = 1
        batches = list(_batches(examples, workers.n, max_pieces))
        parts = list(zip(batches, self._slots_of(batches, examples, free), strict=True))

        def recorded(part: tuple[Sequence[int], Sequence[Tensor]]) -> tuple[Tensor, Tensor]:
            batch = [examples[position] for position in part[0]]
            trace = self._recorder.record(batch, max_weight=self._max_weight)
            if trace.shared.keys() != self._known_layout.shared.keys():
                raise UnsupportedLayer
            if trace.shared:
                (position,) = part[0]
                self._shared[position] = trace.shared
            norms = _squared_norms(trace) if self._with_norms else trace.losses
            return self._write(trace, torch.cat(list(part[1]))), norms

        with self._recorder.recording():
            results = list(workers.each(recorded, parts))
        for (batch, slots), (vectors, norms) in zip(parts, results, strict=True):
            for position, own_slots, row, own_norms in zip(
                batch, slots, vectors, norms, strict=True
            ):
                self._slots[position] = own_slots
                self._vectors[position] = row.clone()
                self._squared_norms[position] = own_norms.clone()
        del self._pool.free[len(self._pool.free) - len(free) :]
        self.n_recorded += len(examples)

    def _slots_of(
        self, batches: Sequence[Sequence[int]], examples: Mapping[int, Example], free: Sequence[int]
    ) -> Iterator[list[Tensor]]:
        """Distribute slots among the sentences of the batches. *Shape:* each (pieces,)."""
        slots = torch.tensor(free, device=self._device)
        for batch in batches:
            n_pieces = [examples[position].n_pieces for position in batch]
            *batch_slots, slots = torch.split(slots, [*n_pieces, len(slots) - sum(n_pieces)])
            yield batch_slots

    def _write(self, trace: LayerTrace, slots: Tensor) -> Tensor:
        """Copy matrices into their slots; return the vectors. *Shape:* (sentences, widths)."""
        for name, (inputs, deltas) in trace.matrices.items():
            if name in self._pool.inputs:
                self._pool.inputs[name].index_copy_(0, slots, inputs)
            self._pool.deltas[name].index_copy_(0, slots, deltas)
        return torch.cat(list(trace.vectors.values()), dim=1)

    def slots(self, supports: Sequence[Sequence[int]]) -> Tensor:
        """The slots of the pieces of supports; a support is a list of positions of sentences.

        *Shape:* (supports, pieces), padded with a slot of zeros.
        """
        slots = [torch.cat([self._slots[position] for position in support]) for support in supports]
        return pad_sequence(slots, batch_first=True)

    def slots_by_length(self, supports: Sequence[Sequence[int]]) -> list[Tensor]:
        """The slots of the longest sentence of each support, of the second longest and so on, each
        padded with a slot of zeros. *Shape:* each (supports, pieces).
        """
        none = torch.zeros(0, dtype=torch.long, device=self._device)
        ordered = [
            sorted((self._slots[position] for position in support), key=len, reverse=True)
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
        return functional.embedding(slots, self._pool.inputs[self.input_name(name)])

    def deltas(self, name: str, slots: Tensor) -> Tensor:
        """Likewise the gradients at its outputs. *Shape:* result (supports, pieces, out)."""
        return functional.embedding(slots, self._pool.deltas[name])

    def input_name(self, name: str) -> str:
        """The name under which the inputs of a matrix are stored: layers can share them."""
        return self._known_layout.input_of[name]

    def has_matrix(self, name: str) -> bool:
        """Whether a linear layer reads the pieces of the sentences."""
        return name in self._known_layout.deltas

    def shared(self, support: Sequence[int]) -> _Matrices:
        """The inputs and deltas of shared matrices for a support.

        *Shape:* each (rows, in) and (rows, out).
        """
        if not self._known_layout.shared:
            return {}
        parts = [self._shared[position] for position in support]
        return {
            name: (
                torch.cat([part[name][0] for part in parts]),
                torch.cat([part[name][1] for part in parts]),
            )
            for name in self._known_layout.shared
        }

    def vectors(self, supports: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """The gradients of biases and norms for the mean loss of each support.

        *Shape:* each (supports, width).
        """
        sizes = torch.tensor([len(support) for support in supports], device=self._device)
        means = self._sums(self._vectors, supports) / sizes[:, None]
        widths = self._known_layout.vectors
        parts = torch.split(means, list(widths.values()), dim=1)
        return dict(zip(widths, parts, strict=True))

    def squared_norms(self, supports: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """For each matrix the sum of the squared norms of the gradients of a support's sentences.

        *Shape:* each (supports,).
        """
        return dict(
            zip(
                self._known_layout.deltas,
                self._sums(self._squared_norms, supports).T,
                strict=True,
            )
        )

    def _sums(self, rows: Mapping[int, Tensor], supports: Sequence[Sequence[int]]) -> Tensor:
        """*Shape:* (supports, width)."""
        flat = torch.stack([rows[position] for support in supports for position in support])
        number = [i for i, support in enumerate(supports) for _ in support]
        sums = flat.new_zeros(len(supports), flat.shape[1])
        return sums.index_add_(0, torch.tensor(number, device=self._device), flat)

    @property
    def matrix_names(self) -> list[str]:
        """The names of matrices with gradients."""
        return [*dict.fromkeys((*self._known_layout.deltas, *self._known_layout.shared))]

    @property
    def weight_names(self) -> list[str]:
        """The names of matrices and vectors with gradients."""
        return [*self.matrix_names, *self._known_layout.vectors]

    @property
    def _known_layout(self) -> _Layout:
        if self._layout is None:
            raise ValueError("nothing has been recorded yet")
        return self._layout


@dataclass(frozen=True, slots=True)
class _Layout:
    """The widths of the layers, by the names of their weights.

    ``input_of`` maps each matrix to the name under which its inputs are stored. ``shared`` holds
    the sum of both widths of matrices that are shared by the sentences.
    """

    input_of: dict[str, str]
    inputs: dict[str, int]
    deltas: dict[str, int]
    vectors: dict[str, int]
    shared: dict[str, int]

    @property
    def piece_bytes(self) -> int:
        shared = 2 * sum(self.shared.values())  # n pieces have less than 2 n distances
        matrices = sum(self.inputs.values()) + sum(self.deltas.values()) + shared
        return 4 * max(matrices, sum(self.vectors.values()))  # a sentence has one set of vectors


@dataclass(frozen=True, slots=True)
class _Pool:
    """*Shape:* each (slots, width)."""

    inputs: dict[str, Tensor]
    deltas: dict[str, Tensor]
    n_slots: int
    free: list[int]

    def named(self) -> Iterator[tuple[str, Tensor]]:
        """All tensors with names that tell inputs from deltas."""
        yield from ((f"inputs {name}", rows) for name, rows in self.inputs.items())
        yield from ((f"deltas {name}", rows) for name, rows in self.deltas.items())


def _layout_of(trace: LayerTrace) -> _Layout:
    matrices = trace.matrices
    names: dict[int, str] = {}
    for name, (inputs, _) in matrices.items():
        names.setdefault(id(inputs), name)
    return _Layout(
        input_of={name: names[id(inputs)] for name, (inputs, _) in matrices.items()},
        inputs={name: matrices[name][0].shape[1] for name in names.values()},
        deltas={name: deltas.shape[1] for name, (_, deltas) in matrices.items()},
        vectors={name: rows.shape[1] for name, rows in trace.vectors.items()},
        shared={name: a.shape[1] + b.shape[1] for name, (a, b) in trace.shared.items()},
    )


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
