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


class _WorkProgress(StudyCallback):
    """A bar of what a process is doing: preparing, training or scoring.

    Outside a terminal, as in a log file, lines say which training begins and its scores on dev.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar: TaskID | None = None
        self._bar_title = ""
        self._system_run: SystemRun | None = None

    def on_system_begin(self, system_run: SystemRun) -> None:
        """Remember the system for the titles of bars."""
        self._system_run = system_run

    def on_prepare(self, what: str, n_done: int, n_total: int) -> None:
        """Show the bar of the preparation."""
        self._show(what, n_done, n_total)

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        """Show the bar of the training run."""
        self._remove_bar()
        self._show("training", steps_done, steps)
        resumes = f", resuming after {steps_done:,}" if steps_done else ""
        self._log(f"training, {steps:,} steps{resumes}")

    def on_step_end(self, step: int, result: StepResult) -> None:
        """Advance the bar of the training run."""
        if self._bar is not None:
            self._progress.update(self._bar, completed=step, note=f"loss {result.loss:.3f}")

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """Log the dev F1."""
        self._log(f"step {step:,}: dev F1 {100 * f1:.2f}")

    def on_train_end(self) -> None:
        """Remove the bar of the training run."""
        self._remove_bar()

    def on_scoring(self, what: str, n_done: int, n_total: int) -> None:
        """Show the bar of the labeled sentences."""
        self._show(what, n_done, n_total)

    def _show(self, what: str, n_done: int, n_total: int) -> None:
        """Show a bar until the work is done."""
        title = self._title(what)
        if title != self._bar_title or n_done == n_total:
            self._remove_bar()
        if n_done == n_total:
            return
        if self._bar is None:
            self._bar = self._progress.add_task(title, total=n_total, note="")
            self._bar_title = title
        self._progress.update(self._bar, completed=n_done)

    def _remove_bar(self) -> None:
        if self._bar is not None:
            self._progress.remove_task(self._bar)
            self._bar = None

    def _title(self, what: str) -> str:
        return what if self._system_run is None else f"{self._system_run.title}: {what}"

    def _log(self, text: str) -> None:
        if self._progress.disable:
            self._print(self._title(text))

    def _print(self, line: str) -> None:
        self._progress.console.print(line, highlight=False, markup=False, soft_wrap=True)


class StudyProgress(_WorkProgress):
    """A bar over all results of the study and a bar of the current work of every process.

    Prints a line for every result.
    """

    def __init__(self) -> None:
        console = Console(stderr=True)
        super().__init__(
            Progress(
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
        )
        self._results: TaskID | None = None
        self._n_done, self._n_total = 0, 0
        self._workers: dict[int, _WorkProgress] = {}

    def __enter__(self) -> StudyProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def of_worker(self, worker: int) -> StudyCallback:
        """Shows the work of a process in a bar of its own."""
        return self._workers.setdefault(worker, _WorkProgress(self._progress))

    def on_study_begin(self, n_done: int, n_total: int) -> None:
        """Show the bar over all results."""
        self._results = self._progress.add_task("results", total=n_total, completed=n_done, note="")
        self._n_done, self._n_total = n_done, n_total

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
