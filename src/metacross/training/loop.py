"""The one training loop: steps, validation, checkpoints, and going on after a stop."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Protocol, TypeAlias

from metacross.errors import RunError
from metacross.training.checkpoints import Checkpoints, History, TrainingState


@dataclass(frozen=True, slots=True)
class StepResult:
    """The mean loss of a step, and over how many tasks or sentences; ``slowly`` where a faster way
    to the same did not fit the network.
    """

    loss: float
    n_items: int
    slowly: bool = False


Step: TypeAlias = Callable[[int], StepResult]
Validate: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """How long to train and when to look up."""

    steps: int
    validate_every: int
    checkpoint_every: int


class Callback(Protocol):
    """Is told how a training goes."""

    def preparing(self, what: str, n_done: int, n_all: int) -> None:
        """Something that takes long is made before the first step."""

    def begun(self, steps_done: int, steps: int) -> None:
        """Training begins, or goes on."""

    def stepped(self, step: int, result: StepResult) -> None:
        """A step was taken; counted from 1."""

    def validated(self, step: int, f1: float, best: bool) -> None:
        """The dev corpus was scored."""

    def ended(self) -> None:
        """Training ended, or was stopped."""


def run(
    step: Step,
    state: TrainingState,
    loop: LoopSettings,
    *,
    keeper: Checkpoints,
    validate: Validate | None,
    callbacks: Sequence[Callback] = (),
) -> History:
    """Take the steps that are not done yet; keep the best weights by validation and the last.
    ``validate`` None takes the last for the best.

    A step must depend on nothing but its number and the state, so that a training that was
    stopped goes on to the same end.
    """
    history = keeper.resume(state)
    for callback in callbacks:
        callback.begun(history.steps, loop.steps)
    began = time.monotonic()
    try:
        with _stop_signal() as stop:
            for done in range(history.steps + 1, loop.steps + 1):
                result = step(done - 1)
                for callback in callbacks:
                    callback.stepped(done, result)
                history = history.stepped(done)
                if validate is None and done == loop.steps:
                    keeper.save_best(state)
                elif validate and (done % loop.validate_every == 0 or done == loop.steps):
                    history = _validated(history, state, keeper, validate, callbacks)
                if done % loop.checkpoint_every == 0 or done == loop.steps or stop.wished:
                    seconds = time.monotonic() - began
                    keeper.write(state, history.lasted(seconds))
                if stop.wished and done < loop.steps:
                    raise RunError(
                        f"stopped after step {done:,} of {loop.steps:,}; nothing is lost: the same "
                        f"command goes on from there"
                    )
    finally:
        for callback in callbacks:
            callback.ended()
    return history.lasted(time.monotonic() - began)


def _validated(
    history: History,
    state: TrainingState,
    keeper: Checkpoints,
    validate: Validate,
    callbacks: Sequence[Callback],
) -> History:
    f1 = validate()
    best = history.best_f1 is None or f1 > history.best_f1
    if best:
        keeper.save_best(state)
    for callback in callbacks:
        callback.validated(history.steps, f1, best)
    return history.validated(f1)


class _Stop:
    """Whether the user wishes to stop; a second wish does not wait for the step to end."""

    def __init__(self) -> None:
        self.wished = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if self.wished:
            raise KeyboardInterrupt
        self.wished = True


@contextlib.contextmanager
def _stop_signal() -> Iterator[_Stop]:
    """Take Ctrl-C and a request to terminate as a wish to stop after the step."""
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
