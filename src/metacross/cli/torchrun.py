"""How the command line behaves when torchrun starts it several times."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from metacross.errors import MetacrossError, RunError, SettingsError
from metacross.model.launch import RESUME, check_size, torchrun_launch

SHARED = ("train", "experiment")
"""The commands whose work processes can share."""
_SECONDS_TO_SPEAK = 10  # for the first process, before the end of another one ends it


def check_shared(command: str | None) -> None:
    """Refuse a command whose work several processes cannot share."""
    launch = torchrun_launch()
    if launch is None or launch.size == 1 or command is None:
        return
    if command not in SHARED:
        raise SettingsError(
            f"torchrun: expected {' or '.join(SHARED)}, found {command}; run it without torchrun"
        )
    if command == "train":
        check_size(launch)


@contextlib.contextmanager
def one_voice() -> Iterator[None]:
    """Inside the block only the first process shows anything. SIGTERM, which torchrun sends when
    another process has ended, is an error that the user can fix.
    """
    launch = torchrun_launch()
    if launch is None or launch.size == 1:
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        with contextlib.nullcontext() if launch.is_first else _silence():
            yield
    except MetacrossError:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until the error is shown
        raise
    except BaseException:
        signal.signal(signal.SIGTERM, before)
        raise
    signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    try:
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            yield
    except SystemExit as ended:
        if ended.code:  # the first process says why
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            time.sleep(_SECONDS_TO_SPEAK)
        raise


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise RunError(f"Stopped. {RESUME}")


def reports_errors() -> bool:
    """Whether this process shows the error that ends it: of several the first to have one."""
    if torchrun_launch() is None:
        return True
    from metacross.model.ranks import is_first_to_report

    return is_first_to_report()
