"""The training loop: steps, validation, checkpoints, and resuming after a stop."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TypeAlias

from metacross.errors import RunError
from metacross.model.launch import RESUME
from metacross.model.ranks import ALONE, Ranks
from metacross.training.callbacks import Callback
from metacross.training.checkpoints import Checkpoints, History, TrainingState


@dataclass(frozen=True, slots=True)
class StepResult:
    """The mean loss of a step over ``n_items`` tasks or sentences.

    ``used_fallback`` is True where the fast meta-step does not support the network and the
    textbook loop did the work.
    """

    loss: float
    n_items: int
    used_fallback: bool = False


Step: TypeAlias = Callable[[int], StepResult]
Validate: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Length of a training, and how often to validate and to save a checkpoint, in steps."""

    steps: int
    validate_every: int
    checkpoint_every: int


def run(
    step: Step,
    state: TrainingState,
    loop: LoopSettings,
    *,
    checkpoints: Checkpoints,
    validate: Validate | None,
    callbacks: Sequence[Callback] = (),
    ranks: Ranks = ALONE,
) -> History:
    """Take the remaining steps, saving the best weights by validation and the last ones.

    ``validate`` gives the dev F1; None means that the last weights count as the best. A step may
    depend only on its number and the state, so that a resumed training ends with the same weights.
    ``ranks`` are the processes that share the steps; a request to stop one of them stops all after
    the same step.
    """
    history = checkpoints.resume(state)
    for callback in callbacks:
        callback.on_train_begin(history.steps, loop.steps)
    began = time.monotonic()
    try:
        with _stop_signal() as stop:
            for done in range(history.steps + 1, loop.steps + 1):
                result = step(done - 1)
                for callback in callbacks:
                    callback.on_step_end(done, result)
                history = history.after_step(done)
                if validate is None and done == loop.steps:
                    checkpoints.save_best(state)
                elif validate and (done % loop.validate_every == 0 or done == loop.steps):
                    history = _after_validation(history, state, checkpoints, validate, callbacks)
                stops = ranks.any(stop.requested)
                if done % loop.checkpoint_every == 0 or done == loop.steps or stops:
                    seconds = time.monotonic() - began
                    checkpoints.save(state, history.with_time(seconds))
                if stops:
                    raise RunError(f"Stopped after step {done:,} of {loop.steps:,}. {RESUME}")
    finally:
        for callback in callbacks:
            callback.on_train_end()
    return history.with_time(time.monotonic() - began)


def _after_validation(
    history: History,
    state: TrainingState,
    checkpoints: Checkpoints,
    validate: Validate,
    callbacks: Sequence[Callback],
) -> History:
    f1 = validate()
    best = history.best_f1 is None or f1 > history.best_f1
    if best:
        checkpoints.save_best(state)
    for callback in callbacks:
        callback.on_validation(history.steps, f1, best)
    return history.after_validation(f1)


class _Stop:
    """Signal handler that requests a stop after the current step; a second signal stops at once."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@contextlib.contextmanager
def _stop_signal() -> Iterator[_Stop]:
    """Turn Ctrl-C and SIGTERM into a request to stop after the current step."""
    stop = _Stop()
    try:
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # signals can only be caught in the main thread
        before = {}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
