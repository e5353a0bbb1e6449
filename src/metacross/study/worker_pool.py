"""Shares the work of a study among several processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Protocol

from metacross.adaptation import processes
from metacross.adaptation.processes import Processes, Send
from metacross.model.cores import available_cores
from metacross.study.callbacks import StudyCallback
from metacross.study.results import Result
from metacross.study.system_runs import SystemRun
from metacross.training.loop import StepResult

_SECONDS_BETWEEN_STEPS = 0.5  # that are reported; every step would keep this process busy


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
    n_threads = max(1, available_cores() // n_processes)

    def handle(message: tuple[int, Any]) -> None:
        worker, event = message
        if isinstance(event, Result):
            callback.on_result(event)
        elif isinstance(event, _SystemBegin):
            system_run = work.system_run(event.part, event.number)
            callback.of_worker(worker).on_system_begin(system_run)
        else:
            event(callback.of_worker(worker))

    processes.run_in_processes(_SharedWork(work), Processes(n_processes, n_threads), handle)


@dataclass(frozen=True, slots=True)
class _SharedWork:
    work: Work

    @property
    def n_parts(self) -> int:
        return self.work.n_parts

    def name(self, part: int) -> str:
        return f"part {part}"

    def prepared(self, worker: int) -> Callable[[int, Send], None]:
        return lambda part, send: self.work.run(
            part, _Sender(lambda event: send((worker, event)), self.work, part)
        )


@dataclass(frozen=True, slots=True)
class _SystemBegin:
    """A system run begins, by its number in a part: its corpora are too large to send."""

    part: int
    number: int


class _Sender(StudyCallback):
    """Sends the events of a study to the parent process. Of steps that follow each other closely
    it leaves some out.
    """

    def __init__(self, send: Send, work: Work, part: int) -> None:
        self._send = send
        self._work = work
        self._part = part
        self._sent_at = -_SECONDS_BETWEEN_STEPS

    def on_system_begin(self, system_run: SystemRun) -> None:
        self._send(_SystemBegin(self._part, self._work.number(self._part, system_run)))

    def on_prepare(self, what: str, n_done: int, n_total: int) -> None:
        if n_done == n_total or self._is_due():
            self._send(methodcaller("on_prepare", what, n_done, n_total))

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        self._send(methodcaller("on_train_begin", steps_done, steps))

    def on_step_end(self, step: int, result: StepResult) -> None:
        if self._is_due():
            self._send(methodcaller("on_step_end", step, result))

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        self._send(methodcaller("on_validation", step, f1, best))

    def on_train_end(self) -> None:
        self._send(methodcaller("on_train_end"))

    def on_scoring(self, what: str, n_done: int, n_total: int) -> None:
        if n_done == n_total or self._is_due():
            self._send(methodcaller("on_scoring", what, n_done, n_total))

    def on_result(self, result: Result) -> None:
        self._send(result)

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._sent_at < _SECONDS_BETWEEN_STEPS:
            return False
        self._sent_at = now
        return True
