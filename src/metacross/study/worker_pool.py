"""Shares the work of a study among several processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Protocol

import torch

from metacross.errors import MetacrossError, RunError
from metacross.model.launch import RESUME
from metacross.study.callbacks import StudyCallback
from metacross.study.results import Result
from metacross.study.system_runs import SystemRun

_SECONDS_TO_STOP = 60  # for the last step and its checkpoint


class Work(Protocol):
    """Work that can be shared. It is pickled and sent to every process."""

    @property
    def n_parts(self) -> int:
        """The number of parts; a process does one part at a time."""

    def run(self, part: int, callback: StudyCallback) -> None:
        """Do a part."""

    def system_run(self, part: int, number: int) -> SystemRun:
        """A system run of a part."""

    def number(self, part: int, system_run: SystemRun) -> int:
        """The number of a system run in a part."""


def run_in_processes(work: Work, n_processes: int, callback: StudyCallback) -> None:
    """Do all parts of the work. A process gets the next part when it has finished one; ``callback``
    is called in this process.

    Ctrl-C, SIGTERM and errors stop all processes after their current training step.
    """
    n_processes = min(n_processes, work.n_parts)
    workers = _started(work, n_processes)
    remaining = deque(range(work.n_parts))
    try:
        with _signals_interrupt():
            while workers:
                ready = wait([worker.connection for worker in workers])
                for worker in [worker for worker in workers if worker.connection in ready]:
                    if not _handle_message(worker, work, remaining, callback):
                        workers.remove(worker)
    except KeyboardInterrupt:
        _stop(workers)
        raise RunError(f"Stopped. {RESUME}") from None
    except BaseException:
        _stop(workers)
        raise


@dataclass(frozen=True, slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection


def _started(work: Work, n_processes: int) -> list[_Worker]:
    context = multiprocessing.get_context("spawn")
    n_threads = max(1, (os.cpu_count() or 1) // n_processes)
    workers = []
    with _environment(OMP_NUM_THREADS=str(n_threads)):
        for _ in range(n_processes):
            connection, theirs = context.Pipe()
            process = context.Process(target=_work, args=(work, theirs, n_threads), daemon=True)
            process.start()
            theirs.close()
            workers.append(_Worker(process, connection))
    return workers


def _handle_message(
    worker: _Worker, work: Work, remaining: deque[int], callback: StudyCallback
) -> bool:
    """React to a message of a worker; False: the worker has ended."""
    try:
        kind, value = worker.connection.recv()
    except EOFError:
        worker.process.join()
        if worker.process.exitcode:
            raise RunError(
                f"a worker process ended with exit code {worker.process.exitcode}. {RESUME}"
            ) from None
        return False
    if kind == "ready":
        worker.connection.send(remaining.popleft() if remaining else None)
    elif kind == "error":
        raise value
    elif kind == "system":
        callback.on_system_begin(work.system_run(*value))
    elif kind == "scoring":
        callback.on_scoring(*value)
    elif kind == "result":
        callback.on_result(value)
    return True


def _stop(workers: Sequence[_Worker]) -> None:
    """Let workers finish their training step; kill those that do not end in time."""
    for worker in workers:
        worker.process.terminate()
    try:
        for worker in workers:
            worker.process.join(_SECONDS_TO_STOP)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()


def _work(work: Work, connection: Connection, n_threads: int) -> None:
    """What a worker process does."""
    _end_with_parent()
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C reaches the parent only, which then stops the workers
    signal.signal(signal.SIGTERM, _interrupt)
    torch.set_num_threads(n_threads)
    try:
        while (part := _next_part(connection)) is not None:
            work.run(part, _Sender(connection, work, part))
    except MetacrossError as error:
        connection.send(("error", error))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(1)


def _next_part(connection: Connection) -> int | None:
    connection.send(("ready", None))
    part: int | None = connection.recv()
    return part


class _Sender(StudyCallback):
    """Sends the events of a study to the parent process."""

    def __init__(self, connection: Connection, work: Work, part: int) -> None:
        self._connection = connection
        self._work = work
        self._part = part

    def on_system_begin(self, system_run: SystemRun) -> None:
        number = self._work.number(self._part, system_run)  # corpora are too large to send
        self._connection.send(("system", (self._part, number)))

    def on_scoring(self, what: str, n_done: int, n_total: int) -> None:
        self._connection.send(("scoring", (what, n_done, n_total)))

    def on_result(self, result: Result) -> None:
        self._connection.send(("result", result))


def _end_with_parent() -> None:
    """End this process when the parent process ends, even by SIGKILL."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch(sentinel: int = parent.sentinel) -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Make SIGINT and SIGTERM raise KeyboardInterrupt, also where SIGINT was ignored before, as in
    background jobs of a shell.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set environment variables for processes that start inside the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
