"""Shows the progress of a study in the terminal."""

from __future__ import annotations

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

from metacross.study.callbacks import StudyCallback
from metacross.study.plan import fraction_name
from metacross.study.results import Result
from metacross.study.system_runs import SystemRun
from metacross.training.loop import StepResult


class StudyProgress(StudyCallback):
    """A bar over all results of the study and, with one process, a bar of the current work.

    Prints a line for every result. Outside a terminal, as in a log file, there are no bars: then
    the lines say which training begins, its scores on dev, and how many results there are.
    """

    def __init__(self, *, n_processes: int = 1) -> None:
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
        self._shows_work = n_processes == 1
        self._results: TaskID | None = None
        self._n_done, self._n_total = 0, 0
        self._work: TaskID | None = None
        self._system_run: SystemRun | None = None

    def __enter__(self) -> StudyProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def on_study_begin(self, n_done: int, n_total: int) -> None:
        """Show the bar over all results."""
        self._results = self._progress.add_task("results", total=n_total, completed=n_done, note="")
        self._n_done, self._n_total = n_done, n_total

    def on_system_begin(self, system_run: SystemRun) -> None:
        """Remember the system for the titles of bars."""
        self._system_run = system_run

    def on_prepare(self, what: str, n_done: int, n_total: int) -> None:
        """Show the bar of the preparation."""
        self._show_work(what, n_done, n_total)

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        """Show the bar of the training run."""
        self._show_work("training", steps_done, steps, new=True)
        resumes = f", resuming after {steps_done:,}" if steps_done else ""
        self._log(f"training, {steps:,} steps{resumes}")

    def on_step_end(self, step: int, result: StepResult) -> None:
        """Advance the bar of the training run."""
        if self._work is not None:
            self._progress.update(self._work, completed=step, note=f"loss {result.loss:.3f}")

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """Log the dev F1."""
        self._log(f"step {step:,}: dev F1 {100 * f1:.2f}")

    def on_scoring(self, what: str, n_done: int, n_total: int) -> None:
        """Show the bar of the labeled sentences."""
        self._show_work(what, n_done, n_total)

    def on_result(self, result: Result) -> None:
        """Advance the bar over all results and print the result."""
        if self._results is not None:
            self._progress.advance(self._results)
        self._n_done += 1
        count = f" ({self._n_done:,} of {self._n_total:,})" if self._progress.disable else ""
        self._print(
            f"{result.system}, seed {result.seed}, {result.target}, "
            f"{fraction_name(result.fraction)}: F1 {100 * result.f1:.2f}{count}"
        )

    def _log(self, text: str) -> None:
        if self._progress.disable:
            self._print(self._title(text))

    def _print(self, line: str) -> None:
        self._progress.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _title(self, what: str) -> str:
        return what if self._system_run is None else f"{self._system_run.title}: {what}"

    def _show_work(self, what: str, n_done: int, n_total: int, *, new: bool = False) -> None:
        if not self._shows_work:
            return
        title = self._title(what)
        tasks = {task.id: task for task in self._progress.tasks}
        if self._work is not None and (new or tasks[self._work].description != title):
            self._progress.remove_task(self._work)
            self._work = None
        if self._work is None:
            self._work = self._progress.add_task(title, total=n_total, note="")
        self._progress.update(self._work, completed=n_done, note="")
