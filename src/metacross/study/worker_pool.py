"""Shares the work of a study among several processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from metacross.adaptation import processes
from metacross.adaptation.processes import Processes, Send
from metacross.model.cores import available_cores
from metacross.study.callbacks import StudyCallback
from metacross.study.results import Result
from metacross.study.system_runs import SystemRun


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

    def handle(message: tuple[str, Any]) -> None:
        kind, value = message
        if kind == "system":
            callback.on_system_begin(work.system_run(*value))
        elif kind == "scoring":
            callback.on_scoring(*value)
        elif kind == "result":
            callback.on_result(value)

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
        return lambda part, send: self.work.run(part, _Sender(send, self.work, part))


class _Sender(StudyCallback):
    """Sends the events of a study to the parent process."""

    def __init__(self, send: Send, work: Work, part: int) -> None:
        self._send = send
        self._work = work
        self._part = part

    def on_system_begin(self, system_run: SystemRun) -> None:
        number = self._work.number(self._part, system_run)  # corpora are too large to send
        self._send(("system", (self._part, number)))

    def on_scoring(self, what: str, n_done: int, n_total: int) -> None:
        self._send(("scoring", (what, n_done, n_total)))

    def on_result(self, result: Result) -> None:
        self._send(("result", result))
