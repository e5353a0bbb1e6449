"""Writes down how a training goes."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

from metacross.errors import MetacrossError
from metacross.text.writing import write_atomically
from metacross.training.loop import StepResult


class JsonLog:
    """A line of JSON for every step and every validation."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def preparing(self, what: str, n_done: int, n_all: int) -> None:
        """Only steps are written."""

    def begun(self, steps_done: int, steps: int) -> None:
        """Drop what was written of steps that will be taken again."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        kept = [line for line in self._lines() if line["step"] <= steps_done]
        write_atomically(self._path, (json.dumps(line) + "\n" for line in kept))

    def _lines(self) -> list[dict[str, Any]]:
        lines = []
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # cut off by a kill
                    lines.append(json.loads(line))
        return lines

    def stepped(self, step: int, result: StepResult) -> None:
        """Write a step."""
        self._write(step=step, loss=result.loss, items=result.n_items)

    def validated(self, step: int, f1: float, best: bool) -> None:
        """Write a validation."""
        self._write(step=step, dev_f1=f1, best=best)

    def ended(self) -> None:
        """Nothing is held open."""

    def _write(self, **values: object) -> None:
        line = json.dumps({**values, "time": round(time.time(), 3)})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class TensorBoardLog:
    """Loss and dev F1 as TensorBoard shows them (extra ``track``)."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MetacrossError(
                "TensorBoard needs the 'track' extra: pip install 'metacross[track]'"
            ) from None
        self._writer_class = SummaryWriter
        self._folder = folder
        self._writer: Any = None

    def preparing(self, what: str, n_done: int, n_all: int) -> None:
        """Only steps are written."""

    def begun(self, steps_done: int, steps: int) -> None:
        """Open the log, hiding what will be done again."""
        self._writer = self._writer_class(str(self._folder), purge_step=steps_done + 1)

    def stepped(self, step: int, result: StepResult) -> None:
        """Write a step."""
        self._writer.add_scalar("loss", result.loss, step)

    def validated(self, step: int, f1: float, best: bool) -> None:
        """Write a validation."""
        self._writer.add_scalar("dev F1", f1, step)

    def ended(self) -> None:
        """Close the log."""
        self._writer.close()
