"""Shows on the terminal how far a study has come."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterable

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from metacross.study.plan import SystemRun
from metacross.study.results import Result
from metacross.training.loop import StepResult


class SharedView:
    """One bar for a study that several processes fraction; what they tell stands above it."""

    def __init__(self, n_cells: int) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("results"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._study = self._progress.add_task("results", total=n_cells)
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> SharedView:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.join(timeout=5)
        self._progress.stop()

    def follow(self, process: subprocess.Popen[str]) -> None:
        """Print what a process tells, line by line."""
        reader = threading.Thread(target=self._tell, args=(process.stderr,), daemon=True)
        reader.start()
        self._readers.append(reader)

    def _tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._progress.console.print(
                line.rstrip("\n"), markup=False, highlight=False, soft_wrap=True
            )

    def show(self, n_done: int) -> None:
        """Move the bar."""
        self._progress.update(self._study, completed=n_done)


class StudyView:
    """Two bars: all results of the study, and the work at hand. Elsewhere than on a terminal there
    is a line for every result.
    """

    def __init__(self, n_cells: int, n_done: int) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._study = self._progress.add_task("results", total=n_cells, completed=n_done, note="")
        self._work: TaskID | None = None
        self._unit: SystemRun | None = None

    def __enter__(self) -> StudyView:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def on_system_begin(self, system_run: SystemRun) -> None:
        """Name the system."""
        self._unit = system_run

    def preparing(self, what: str, n_done: int, n_all: int) -> None:
        """Show a bar for it."""
        self._show(what, n_done, n_all)

    def begun(self, steps_done: int, steps: int) -> None:
        """Start the bar of a training."""
        self._show("training", steps_done, steps, new=True)

    def stepped(self, step: int, result: StepResult) -> None:
        """Move it."""
        if self._work is not None:
            how = ", by the textbook loop" if result.slowly else ""
            note = f"loss {result.loss:.3f}{how}"
            self._progress.update(self._work, completed=step, note=note)

    def validated(self, step: int, f1: float, best: bool) -> None:
        """Shown with the results."""

    def ended(self) -> None:
        """The next work has a bar of its own."""

    def scoring(self, what: str, n_done: int, n_all: int) -> None:
        """Show a bar for it."""
        self._show(what, n_done, n_all)

    def on_result(self, result: Result) -> None:
        """Move the study's bar, and tell the result."""
        self._progress.advance(self._study)
        self._progress.console.print(
            f"{result.system}, seed {result.seed}, {result.target}, {result.fraction}: "
            f"F1 {100 * result.f1:.2f}",
            highlight=False,
        )

    def _show(self, what: str, n_done: int, n_all: int, *, new: bool = False) -> None:
        title = what if self._unit is None else f"{self._unit.title}: {what}"
        tasks = {task.id: task for task in self._progress.tasks}
        if self._work is not None and (new or tasks[self._work].description != title):
            self._progress.remove_task(self._work)
            self._work = None
        if self._work is None:
            self._work = self._progress.add_task(title, total=n_all, note="")
        self._progress.update(self._work, completed=n_done, note="")
