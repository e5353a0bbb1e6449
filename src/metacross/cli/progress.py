"""Progress bars of long work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

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

from metacross.cli.output import show_note
from metacross.serving.bulk.annotate import AnnotateCallback
from metacross.training.callbacks import Callback
from metacross.training.loop import StepResult


class TrainingBar(Callback):
    """A bar with loss, speed and time left; a line for every validation."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}  {task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not Console(stderr=True).is_terminal,
        )
        self._task: TaskID | None = None
        self._preparation: TaskID | None = None
        self._fallback_shown = False

    def on_prepare(self, what: str, n_done: int, n_total: int) -> None:
        """Show a bar until the preparation is done."""
        if self._preparation is None and n_done == n_total:
            return
        if self._preparation is None:
            self._progress.start()
            self._preparation = self._progress.add_task(what, total=n_total, loss="", speed="")
        self._progress.update(self._preparation, completed=n_done)
        if n_done == n_total:
            self._progress.remove_task(self._preparation)
            self._preparation = None

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        """Start the bar at the step where training resumes."""
        if steps_done:
            self._progress.console.print(f"Resuming after step {steps_done:,} of {steps:,}.")
        self._progress.start()
        self._task = self._progress.add_task(
            "training", total=steps, completed=steps_done, loss="", speed=""
        )

    def on_step_end(self, step: int, result: StepResult) -> None:
        """Move the bar; say once if the textbook loop does the work."""
        if self._task is None:
            return
        if result.used_fallback and not self._fallback_shown:
            self._fallback_shown = True
            self._progress.console.print(
                "Meta-training by the textbook loop: the fast one does not support this encoder or "
                "precision."
            )
        steps_a_second = self._progress.tasks[-1].speed
        speed = f"{steps_a_second * result.n_items:.1f} {self._unit}/s" if steps_a_second else ""
        self._progress.update(self._task, completed=step, loss=f"{result.loss:.3f}", speed=speed)

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """Print the dev F1."""
        mark = " (best so far)" if best else ""
        self._progress.console.print(f"step {step:,}: dev F1 {100 * f1:.2f}{mark}")

    def on_train_end(self) -> None:
        """Remove the bar."""
        self._progress.stop()


@contextlib.contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar over ``total`` items; call the function that it yields with the number done."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task(what, total=total)
        yield lambda n_done: progress.update(task, completed=n_done)


class BulkBar(AnnotateCallback):
    """A bar over all units of an annotation, with speed and time left; a context manager."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not Console(stderr=True).is_terminal,
            speed_estimate_period=600,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> BulkBar:
        self._progress.start()
        self._task = self._progress.add_task("reading", total=None, speed="")
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def on_read(self, n_bytes: int) -> None:
        """Show how much was read."""
        if self._task is not None:
            self._progress.update(self._task, speed=f"{n_bytes / 1e6:,.0f} MB")

    def on_begin(self, n_done: int, n_units: int) -> None:
        """Start the bar where the annotation resumes."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        if n_done:
            self.on_note(f"Resuming after {n_done:,} of {n_units:,}.")
        self._task = self._progress.add_task(
            "annotating", total=n_units, completed=n_done, speed=""
        )

    def on_progress(self, n_done: float) -> None:
        """Move the bar."""
        if self._task is not None:
            a_second = self._progress.tasks[-1].speed
            speed = f"{a_second:,.1f}/s" if a_second else ""
            self._progress.update(self._task, completed=int(n_done), speed=speed)

    def on_note(self, text: str) -> None:
        """Print a note above the bar."""
        if self._progress.disable:
            show_note(text)
        else:
            self._progress.console.print(text, style="dim", markup=False, highlight=False)
