"""Lets one process at a time work in a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from metacross.errors import RunError


@contextlib.contextmanager
def locked_folder(folder: Path, refusal: str) -> Iterator[None]:
    """Hold the lock of a folder; refuse with this text if another process holds it. The lock ends
    with its process, however that ends.
    """
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise RunError(refusal) from None
    except NotImplementedError:  # a file system without locks
        pass
    try:
        yield
    finally:
        lock.release()
