"""Reads parts of a large file through a memory map, without keeping them in memory."""

from __future__ import annotations

import mmap
from pathlib import Path

_RESIDENT_BYTES = 2**24
"""Pages that a map may keep in memory before they are given back."""
_FAULT_BYTES = 2**16  # what one access makes resident at least


class MappedFile:
    """The bytes of a file. The pages that were read are given back from time to time, so that a
    process that reads all of a file holds only a small part of it.

    The file must not change while it is open. It can be deleted, except on Windows.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.size = file.seek(0, 2)
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else None
        self._n_touched = 0

    @property
    def view(self) -> memoryview:
        """All bytes. Copy what you need, then call :meth:`touched`."""
        return memoryview(self._map or b"")

    def read(self, start: int, end: int) -> bytes:
        """A copy of a range of bytes."""
        content = bytes(self.view[start:end])
        self.touched(end - start)
        return content

    def touched(self, n_bytes: int, *, n_places: int = 1) -> None:
        """Note that bytes were read in some places of the file, and give pages back if enough were
        read. Where the system cannot do this, it takes them back itself when memory is short.
        """
        self._n_touched += n_bytes + n_places * _FAULT_BYTES
        if self._n_touched > _RESIDENT_BYTES and self._map is not None:
            if hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED)
            self._n_touched = 0
