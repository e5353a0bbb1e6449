"""Worker threads that compute in parallel, each with its own share of the cores."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

_MAX_WORKERS = 4  # each needs memory

_T = TypeVar("_T")
_R = TypeVar("_R")


class Workers:
    """Threads that share the cores of torch; with one core the caller does the work itself.

    Independent parts run faster this way than one after another on all cores, because no core
    waits for the others at the end of each matrix product.
    """

    def __init__(self, threads: ThreadPoolExecutor | None, n: int) -> None:
        self._threads = threads
        self.n = n

    def each(self, work: Callable[[_T], _R], parts: Iterable[_T]) -> Iterator[_R]:
        """Do the work for each part; results come in the order of the parts."""
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
    """Start at most ``n_parts`` worker threads inside the block. They end with it, because torch's
    own threads are slower while other threads exist.
    """
    n_cores = torch.get_num_threads() if device.type == "cpu" else 1
    n = min(_MAX_WORKERS, n_cores, n_parts)
    if n <= 1:
        yield Workers(None, 1)
        return
    all_started = threading.Barrier(n)

    def start(_number: int) -> None:
        torch.get_num_threads()  # otherwise the first product resets the number
        torch.set_num_threads(n_cores // n)
        all_started.wait()

    with ThreadPoolExecutor(n, thread_name_prefix="metacross") as threads:
        list(threads.map(start, range(n)))
        torch.set_num_threads(n_cores)  # restores the number for other threads
        try:
            yield Workers(threads, n)
        finally:
            threads.shutdown(cancel_futures=True)
