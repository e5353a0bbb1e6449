"""Shares the work of a study among several processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType

import torch

from metacross.errors import MetacrossError, RunError
from metacross.study.callbacks import StudyCallback
from metacross.study.results import Result, StudyFolder
from metacross.study.run_system import run_system
from metacross.study.system_runs import PlannedResult, SystemRun

RESUME = "Run the same command again to resume."
_SECONDS_TO_STOP = 60  # for the last step and its checkpoint


@dataclass(frozen=True, slots=True)
class Job:
    """The results of a system run that are still to be made."""

    system_run: SystemRun
    planned_results: tuple[PlannedResult, ...]


@dataclass(frozen=True, slots=True)
class StudyWork:
    """Everything a process needs: jobs by the training run they share, and where results go."""

    trainings: tuple[tuple[Job, ...], ...]
    folder: StudyFolder
    curve_sentences: int

    def run(self, training: int, callback: StudyCallback) -> None:
        """Do the jobs of a training run."""
        for job in self.trainings[training]:
            run_system(
                job.system_run,
                job.planned_results,
                self.folder,
                callback,
                curve_sentences=self.curve_sentences,
            )


def run_in_processes(work: StudyWork, n_processes: int, callback: StudyCallback) -> None:
    """Do all jobs. A process takes the next training run when it has finished one; ``callback`` is
    called in this process.

    Ctrl-C, SIGTERM and errors stop all processes after their current training step.
    """
    n_processes = min(n_processes, len(work.trainings))
    workers = _started(work, n_processes)
    remaining = deque(range(len(work.trainings)))
    try:
        with _sigterm_interrupts():
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


def _started(work: StudyWork, n_processes: int) -> list[_Worker]:
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
    worker: _Worker, work: StudyWork, remaining: deque[int], callback: StudyCallback
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
        training, number = value
        callback.on_system_begin(work.trainings[training][number].system_run)
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


def _work(work: StudyWork, connection: Connection, n_threads: int) -> None:
    """What a worker process does."""
    _end_with_parent()
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C reaches the parent only, which then stops the workers
    signal.signal(signal.SIGTERM, _interrupt)
    torch.set_num_threads(n_threads)
    try:
        while (training := _next_training(connection)) is not None:
            work.run(training, _Sender(connection, work, training))
    except MetacrossError as error:
        connection.send(("error", error))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(1)


def _next_training(connection: Connection) -> int | None:
    connection.send(("ready", None))
    training: int | None = connection.recv()
    return training


class _Sender(StudyCallback):
    """Sends the events of a study to the parent process."""

    def __init__(self, connection: Connection, work: StudyWork, training: int) -> None:
        self._connection = connection
        self._training = training
        self._numbers = {id(job.system_run): i for i, job in enumerate(work.trainings[training])}

    def on_system_begin(self, system_run: SystemRun) -> None:
        self._connection.send(("system", (self._training, self._numbers[id(system_run)])))

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
def _sigterm_interrupts() -> Iterator[None]:
    """Make SIGTERM raise KeyboardInterrupt, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Callable[[int, FrameType | None], object] | int | None = signal.signal(
        signal.SIGTERM, _interrupt
    )
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
