"""Writes a file completely or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it replaces ``path``.

    When the block raises, the temporary file is removed and ``path`` is left as it was. The block
    must create the file; the folder must exist. Errors of the file system are raised as
    ``OSError``, so that the caller can report them in its own words. To survive a power failure,
    call ``os.fsync`` on the file inside the block. If ``path`` is a link, the file that it leads to
    is replaced. A device or a pipe, such as ``/dev/stdout``, is written directly.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with atomic_path(path) as temporary:
    ...     _ = temporary.write_text("complete")
    ...     path.exists()
    False
    >>> path.read_text()
    'complete'
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        discard(temporary)


def discard(path: Path) -> None:
    """Remove a file if it exists and can be removed."""
    with contextlib.suppress(OSError):
        path.unlink()
