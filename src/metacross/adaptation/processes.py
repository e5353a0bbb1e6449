"""Worker processes that compute in parallel, each with its own share of the cores."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any, Protocol, TypeAlias

import torch

from metacross.errors import MetacrossError, RunError
from metacross.model.launch import RESUME

_SECONDS_TO_STOP = 60  # for the last step and its checkpoint

Send: TypeAlias = Callable[[Any], None]
"""Sends a message from a worker to the parent process."""


class Work(Protocol):
    """Work that can be shared. It is pickled and sent to every process."""

    @property
    def n_parts(self) -> int:
        """The number of parts; a process does one part at a time."""

    def name(self, part: int) -> str:
        """What a part is called in messages."""

    def prepared(self, worker: int) -> Callable[[int, Send], None]:
        """What does a part; called once in each process, with the number of the process."""


@dataclass(frozen=True, slots=True)
class Processes:
    """How many processes share the work, and the threads of torch in each.

    ``attempts`` says how often a part is tried when its process dies, by a signal or by an error
    that nobody expected.
    """

    n: int
    threads: int
    attempts: int = 1


def run_in_processes(work: Work, processes: Processes, on_message: Callable[[Any], None]) -> None:
    """Do all parts of the work. A process gets the next part when it has finished one;
    ``on_message`` gets the messages of all processes, in this process.

    Ctrl-C, SIGTERM and errors stop all processes after their current step.
    """
    pool = _Pool(work, processes)
    try:
        with _signals_interrupt():
            pool.start()
            while pool.workers:
                ready = wait([worker.connection for worker in pool.workers])
                for worker in [worker for worker in pool.workers if worker.connection in ready]:
                    pool.handle(worker, on_message)
    except KeyboardInterrupt:
        _stop(pool.workers)
        raise RunError(f"Stopped. {RESUME}") from None
    except BaseException:
        _stop(pool.workers)
        raise


@dataclass(slots=True)
class _Worker:
    """``part`` is what it works on; None: nothing yet."""

    number: int
    process: SpawnProcess
    connection: Connection
    part: int | None = None


class _Pool:
    """The processes, and the parts that they have not got yet."""

    def __init__(self, work: Work, processes: Processes) -> None:
        self._work = work
        self._processes = processes
        self._remaining = deque(range(work.n_parts))
        self._deaths: Counter[int | None] = Counter()
        self.workers: list[_Worker] = []

    def start(self) -> None:
        """Start the processes."""
        for number in range(min(self._processes.n, self._work.n_parts)):
            self._start_worker(number)

    def _start_worker(self, number: int) -> None:
        context = multiprocessing.get_context("spawn")
        n_threads = self._processes.threads
        connection, theirs = context.Pipe()
        arguments = (self._work, number, theirs, n_threads)
        process = context.Process(target=_work, args=arguments, daemon=True)
        with _environment(OMP_NUM_THREADS=str(n_threads)):
            process.start()
        theirs.close()
        self.workers.append(_Worker(number, process, connection))

    def handle(self, worker: _Worker, on_message: Callable[[Any], None]) -> None:
        """React to a message of a worker, or to its end."""
        try:
            kind, value = worker.connection.recv()
        except (EOFError, OSError):
            self._ended(worker)
            return
        if kind == "ready":
            del self._deaths[None]
            worker.part = self._remaining.popleft() if self._remaining else None
            with contextlib.suppress(BrokenPipeError):  # it died; its end comes next
                worker.connection.send(worker.part)
        elif kind == "error":
            raise value
        else:
            on_message(value)

    def _ended(self, worker: _Worker) -> None:
        worker.process.join()
        self.workers.remove(worker)
        code = worker.process.exitcode
        if not code:
            return
        self._deaths[worker.part] += 1
        if self._deaths[worker.part] >= self._processes.attempts:
            raise RunError(f"{self._described(worker.part)} ended with exit code {code}. {RESUME}")
        if worker.part is not None:
            self._remaining.appendleft(worker.part)
        self._start_worker(worker.number)

    def _described(self, part: int | None) -> str:
        if self._processes.attempts == 1:
            return "a worker process"
        name = "no part" if part is None else self._work.name(part)
        return f"{name}: tried {self._processes.attempts} times, the last worker process"


def _stop(workers: Sequence[_Worker]) -> None:
    """Let workers finish their step; kill those that do not end in time."""
    for worker in workers:
        worker.process.terminate()
    try:
        for worker in workers:
            worker.process.join(_SECONDS_TO_STOP)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()


def _work(work: Work, number: int, connection: Connection, n_threads: int) -> None:
    """What a worker process does."""
    _end_with_parent()
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C reaches the parent only, which then stops the workers
    signal.signal(signal.SIGTERM, _interrupt)
    torch.set_num_threads(n_threads)
    try:
        run = work.prepared(number)
        while (part := _next_part(connection)) is not None:
            run(part, lambda message: connection.send(("message", message)))
    except MetacrossError as error:
        connection.send(("error", error))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(1)


def _next_part(connection: Connection) -> int | None:
    connection.send(("ready", None))
    part: int | None = connection.recv()
    return part


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
