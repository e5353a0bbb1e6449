"""Observes a training run: the callback interface, and logs to JSON lines and TensorBoard."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from metacross.adaptation.prediction import SentencePrediction
from metacross.errors import MetacrossError
from metacross.text.sentence import Corpus
from metacross.text.writing import write_atomically

if TYPE_CHECKING:
    from metacross.training.loop import StepResult

LabelCorpus: TypeAlias = Callable[[Corpus], list[SentencePrediction]]


class Callback:
    """Base class of callbacks. Every method does nothing; override the ones you need."""

    def on_prepare(self, what: str, n_done: int, n_total: int) -> None:
        """Preparation before the first step has advanced, such as sentence vectors."""

    def on_model(self, label: LabelCorpus) -> None:
        """The model exists. ``label(corpus)`` predicts with its weights at the time of the call,
        without adaptation.
        """

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        """Training starts or resumes after ``steps_done`` steps."""

    def on_step_end(self, step: int, result: StepResult) -> None:
        """Step number ``step``, counted from 1, is done."""

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """The dev corpus was scored; ``best`` says whether this is the best score so far."""

    def on_train_end(self) -> None:
        """Training ended, was stopped, or failed."""


class JsonLog(Callback):
    """Writes a line of JSON for every step and every validation."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        """Remove lines of steps that will be repeated."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = [line for line in self._lines() if line["step"] <= steps_done]
        write_atomically(self._path, (json.dumps(line) + "\n" for line in lines))

    def _lines(self) -> list[dict[str, Any]]:
        lines = []
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # cut off by a kill
                    lines.append(json.loads(line))
        return lines

    def on_step_end(self, step: int, result: StepResult) -> None:
        """Write the loss of a step."""
        self._write(step=step, loss=result.loss, items=result.n_items)

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """Write the dev F1."""
        self._write(step=step, dev_f1=f1, best=best)

    def _write(self, **values: object) -> None:
        line = json.dumps({**values, "time": round(time.time(), 3)})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class TensorBoardLog(Callback):
    """Writes loss and dev F1 as TensorBoard events (extra ``track``)."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MetacrossError(
                "TensorBoard is not installed: pip install 'metacross[track]'"
            ) from None
        self._writer_class = SummaryWriter
        self._folder = folder
        self._writer: Any = None

    def on_train_begin(self, steps_done: int, steps: int) -> None:
        """Open the log and hide steps that will be repeated."""
        self._writer = self._writer_class(str(self._folder), purge_step=steps_done + 1)

    def on_step_end(self, step: int, result: StepResult) -> None:
        """Write the loss of a step."""
        self._writer.add_scalar("loss", result.loss, step)

    def on_validation(self, step: int, f1: float, best: bool) -> None:
        """Write the dev F1."""
        self._writer.add_scalar("dev F1", f1, step)

    def on_train_end(self) -> None:
        """Close the log."""
        if self._writer is not None:
            self._writer.close()
