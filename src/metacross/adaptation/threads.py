"""Threads that compute side by side, each on cores of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

_MOST = 4  # each needs memory of its own

_T = TypeVar("_T")
_R = TypeVar("_R")


class Workers:
    """A few threads that share the cores torch may use; only the caller, where it may use one.

    Parts of a work that do not touch each other are done faster so than with all cores on one
    part after another: no core waits for the others at the end of each product.
    """

    def __init__(self, threads: ThreadPoolExecutor | None, n: int) -> None:
        self._threads = threads
        self.n = n

    def each(self, work: Callable[[_T], _R], parts: Iterable[_T]) -> Iterator[_R]:
        """Do the work for each part; the results in the order of the parts."""
        if self._threads is None:
            yield from map(work, parts)
            return
        enabled = torch.is_grad_enabled()

        def done(part: _T) -> _R:
            with torch.set_grad_enabled(enabled):
                return work(part)

        yield from self._threads.map(done, parts)


@contextlib.contextmanager
def worker_threads(device: torch.device, n_parts: int) -> Iterator[Workers]:
    """Workers for so many parts, for a while. They do not stay, since torch's own threads wait less
    eagerly for each other beside them.
    """
    n_cores = torch.get_num_threads() if device.type == "cpu" else 1
    n = min(_MOST, n_cores, n_parts)
    if n <= 1:
        yield Workers(None, 1)
        return
    all_there = threading.Barrier(n)

    def start(_number: int) -> None:
        torch.get_num_threads()  # or the number for all would be taken over at the first product
        torch.set_num_threads(n_cores // n)
        all_there.wait()

    with ThreadPoolExecutor(n, thread_name_prefix="metacross") as threads:
        list(threads.map(start, range(n)))
        torch.set_num_threads(n_cores)  # for the threads of others; this one kept its own
        try:
            yield Workers(threads, n)
        finally:
            threads.shutdown(cancel_futures=True)
