"""Labels parts in processes of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from metacross.adaptation.processes import Processes, Send, run_in_processes
from metacross.serving.bulk.part_labeling import BulkModel, BulkTarget, PartLabeler
from metacross.serving.bulk.part_results import PartProgress, PartResult, labeled_part
from metacross.text.input_parts import InputPart

_DEATHS = 3  # of workers with the same part
_SECONDS_BETWEEN_MESSAGES = 0.5


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Shares parts among processes; one that dies is replaced."""

    model: BulkModel
    target: BulkTarget
    workers: int

    def run(
        self,
        parts: Sequence[InputPart],
        on_result: Callable[[PartResult], None],
        on_progress: Callable[[PartProgress], None],
    ) -> None:
        """Label the parts; parts that fail have a result that says so."""

        def handle(message: PartResult | PartProgress) -> None:
            if isinstance(message, PartResult):
                on_result(message)
            else:
                on_progress(message)

        processes = Processes(self.workers, self.model.threads, attempts=_DEATHS)
        run_in_processes(_Work(self.model, self.target, tuple(parts)), processes, handle)


@dataclass(frozen=True, slots=True)
class _Work:
    model: BulkModel
    target: BulkTarget
    parts: tuple[InputPart, ...]

    @property
    def n_parts(self) -> int:
        return len(self.parts)

    def name(self, part: int) -> str:
        return self.parts[part].place

    def prepared(self, worker: int) -> Callable[[int, Send], None]:
        device = self.model.device
        if device == "cuda":
            device = f"cuda:{worker % torch.cuda.device_count()}"
        labeler = PartLabeler(self.model, self.target, device=device)

        def run(position: int, send: Send) -> None:
            part = self.parts[position]
            send(labeled_part(labeler, part, _sent_rarely(part.number, send)))

        return run


def _sent_rarely(part: int, send: Send) -> Callable[[float], None]:
    last = time.monotonic()

    def progress(fraction: float) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_MESSAGES:
            last = time.monotonic()
            send(PartProgress(part, fraction))

    return progress
