"""Arrays with many rows in safetensors files, written and read block by block."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from metacross.model.ranks import ALONE, Ranks
from metacross.text.atomic_files import discard
from metacross.text.mapped_file import MappedFile

Rows: TypeAlias = slice | Sequence[int] | NDArray[np.int64]
_TYPES = {"F32": "<f4", "I64": "<i8"}  # names in safetensors and in numpy
_MAX_HEADER_BYTES = 100_000
_GATHERED_ROWS = 256  # copied at once from scattered places
_BLOCK_BYTES = 2**26


class MappedArray:
    """The one array of a safetensors file. Its rows are copied to memory when they are indexed.

    *Shape:* (rows, width).
    """

    def __init__(self, path: Path) -> None:
        """Raises ``ValueError`` if the file is cut off or holds something else."""
        self.path = path
        self._file = MappedFile(path)
        type_, self.shape, start = _header_values(self._file)
        flat = np.frombuffer(self._file.view, dtype=type_, offset=start)
        self._rows = flat.reshape(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Rows) -> NDArray[Any]:
        if isinstance(rows, slice):
            copied = self._rows[rows].copy()
            self._file.touched(copied.nbytes)
            return copied
        positions = np.asarray(rows, dtype=np.int64)
        gathered = np.empty((len(positions), self.shape[1]), dtype=self._rows.dtype)
        for start in range(0, len(positions), _GATHERED_ROWS):
            some = positions[start : start + _GATHERED_ROWS]
            gathered[start : start + len(some)] = self._rows[some]
            self._file.touched(gathered[start : start + len(some)].nbytes, n_places=len(some))
        return gathered

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the values."""
        return rows_digest(self)


class StackedArray:
    """The rows of two arrays, one after the other, without a copy of the first.

    *Shape:* (rows, width).
    """

    def __init__(self, first: MappedArray | NDArray[Any], second: NDArray[Any]) -> None:
        self._first, self._second = first, second
        self.shape = (len(first) + len(second), second.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Rows) -> NDArray[Any]:
        n_first = len(self._first)
        if isinstance(rows, slice):
            start, end, _ = rows.indices(len(self))
            if end <= n_first:
                return self._first[start:end]
            second = self._second[max(0, start - n_first) : end - n_first]
            return np.concatenate([self._first[start:n_first], second])
        positions = np.asarray(rows, dtype=np.int64)
        is_second = positions >= n_first
        gathered = np.empty((len(positions), self.shape[1]), dtype=self._second.dtype)
        gathered[~is_second] = self._first[positions[~is_second]]
        gathered[is_second] = self._second[positions[is_second] - n_first]
        return gathered


Array: TypeAlias = NDArray[Any] | MappedArray | StackedArray


def blocks_of(array: Array) -> Iterator[NDArray[Any]]:
    """The rows of an array in blocks of 64 MB."""
    n_rows = max(1, _BLOCK_BYTES // max(1, 8 * array.shape[1]))
    for start in range(0, len(array), n_rows):
        yield array[start : start + n_rows]


def rows_digest(array: Array) -> str:
    """The SHA-256 of the values of a float32 array."""
    digest = hashlib.sha256()
    for block in blocks_of(array):
        digest.update(np.ascontiguousarray(block, dtype="<f4").data)
    return digest.hexdigest()


def write_array(path: Path, name: str, array: Array) -> None:
    """Write a float32 array as ``safetensors`` does, block by block."""
    with path.open("wb") as file:
        file.write(_header(name, "F32", (len(array), array.shape[1])))
        for block in blocks_of(array):
            file.write(np.ascontiguousarray(block, dtype="<f4").data)


@dataclass(frozen=True, slots=True)
class ArrayPlan:
    """An array that is computed block by block; ``type_`` is its name in safetensors."""

    name: str
    shape: tuple[int, int]
    rows_at_once: int
    type_: Literal["F32", "I64"] = "F32"

    @property
    def header(self) -> bytes:
        """The start of the file."""
        return _header(self.name, self.type_, self.shape)

    @property
    def row_bytes(self) -> int:
        """The length of a row in the file."""
        return self.shape[1] * np.dtype(_TYPES[self.type_]).itemsize


def opened_array(path: Path) -> MappedArray | None:
    """The array in a file; None if there is none, or the file is broken."""
    try:
        return MappedArray(path)
    except (OSError, ValueError):
        return None


def computed_array(
    path: Path,
    plan: ArrayPlan,
    compute: Callable[[int, int], NDArray[Any]],
    progress: Callable[[int], None] = lambda _n_done: None,
    ranks: Ranks = ALONE,
) -> MappedArray:
    """Open the array in a file; if there is none, ``compute(start, end)`` gives its rows.

    After a kill, the complete blocks of the unfinished file are not computed again, and the file
    has the same bytes in the end. Processes that compute the same file wait for each other, and use
    the file of the first. ``progress`` is called with the number of finished rows.

    Of ``ranks``, all call ``compute`` for the same rows, and one on each machine writes the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writes = ranks.local_rank == 0
    with _locked(path.with_suffix(".lock")) if writes else contextlib.nullcontext():
        array = opened_array(path)
        if ranks.any(writes and array is None):
            _compute(path, plan, compute, progress, ranks, writes=writes and array is None)
        ranks.wait()
        return array or MappedArray(path)


def _compute(
    path: Path,
    plan: ArrayPlan,
    compute: Callable[[int, int], NDArray[Any]],
    progress: Callable[[int], None],
    ranks: Ranks,
    *,
    writes: bool,
) -> None:
    unfinished = path.with_suffix(".part")
    n_rows, width = plan.shape
    with contextlib.ExitStack() as stack:
        file: BinaryIO | None = None
        if writes:
            unfinished.touch()
            file = stack.enter_context(unfinished.open("r+b"))
        own_rows = n_rows if file is None else _complete_rows(file, plan)
        n_done = min(ranks.shared(range(ranks.size), lambda _rank: own_rows))
        if file is not None:
            _cut(file, plan, n_done)
        progress(n_done)
        for start in range(n_done, n_rows, plan.rows_at_once):
            end = min(start + plan.rows_at_once, n_rows)
            rows = np.ascontiguousarray(compute(start, end), dtype=_TYPES[plan.type_])
            if rows.shape != (end - start, width):
                raise RuntimeError(f"expected {end - start} rows of {width}, found {rows.shape}")
            if file is not None:
                file.write(rows.data)
                file.flush()
                os.fsync(file.fileno())
            progress(end)
    if writes:
        unfinished.replace(path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock; its file is removed, because the file that it was for exists by then."""
    lock = FileLock(path)
    with contextlib.suppress(NotImplementedError):  # a file system without locks
        lock.acquire()
    try:
        yield
        discard(path)
    finally:
        lock.release()


def _complete_rows(file: BinaryIO, plan: ArrayPlan) -> int:
    """Cut an unfinished file after its last complete block, and go to its end; its number of rows.
    A new file, or one of another array, gets a header.
    """
    n_rows = 0
    if file.read(len(plan.header)) == plan.header:
        n_rows = (file.seek(0, os.SEEK_END) - len(plan.header)) // plan.row_bytes
        if n_rows < plan.shape[0]:
            n_rows -= n_rows % plan.rows_at_once
    else:
        file.seek(0)
        file.write(plan.header)
    _cut(file, plan, n_rows)
    return n_rows


def _cut(file: BinaryIO, plan: ArrayPlan, n_rows: int) -> None:
    file.truncate(len(plan.header) + n_rows * plan.row_bytes)
    file.seek(0, os.SEEK_END)


def _header(name: str, type_: str, shape: tuple[int, int]) -> bytes:
    n_bytes = shape[0] * shape[1] * np.dtype(_TYPES[type_]).itemsize
    description = {"dtype": type_, "shape": list(shape), "data_offsets": [0, n_bytes]}
    text = json.dumps({name: description}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _header_values(file: MappedFile) -> tuple[str, tuple[int, int], int]:
    """Type and shape of the array, and where its values start."""
    n_bytes = int.from_bytes(file.read(0, 8), "little")
    if not 0 < n_bytes <= min(_MAX_HEADER_BYTES, file.size - 8):
        raise ValueError("expected a header, found none")
    arrays = json.loads(file.read(8, 8 + n_bytes))
    arrays.pop("__metadata__", None)
    try:
        ((_, description),) = arrays.items()
        type_, (n_rows, width) = _TYPES[description["dtype"]], description["shape"]
        n_expected = 8 + n_bytes + n_rows * width * np.dtype(type_).itemsize
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"expected one array of two dimensions: {problem}") from problem
    if file.size != n_expected:
        raise ValueError(f"expected {n_expected:,} bytes, found {file.size:,}")
    return type_, (n_rows, width), 8 + n_bytes
