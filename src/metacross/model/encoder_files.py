"""Finds the files of encoders and reports their problems in one line."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import transformers

from metacross.errors import ModelError

MINI = "mini"
"""The name of the encoder that comes with metacross."""
_ONE_THREAD = threading.RLock()
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")


def encoder_location(name: str) -> str:
    """The folder or hub name of an encoder; the bundled one is in the package."""
    return str(resources.files("metacross") / "assets" / "encoder") if name == MINI else name


def check_encoder_folder(name: str) -> None:
    """Report problems of a local folder in one line, before transformers reports them."""
    folder = Path(name)
    if not folder.is_dir():
        if folder.exists() or name.count("/") > 1 or name.startswith((".", "/")):
            found = "a file" if folder.exists() else "nothing there"
            raise ModelError(f"{name}: expected an encoder folder or a hub name, found {found}")
        return
    if not (folder / "config.json").exists():
        raise ModelError(f"{name}: expected config.json in the folder, found none")
    if not any(folder.glob("model*.safetensors")):
        pickles = [file.name for pattern in _PICKLES for file in folder.glob(pattern)]
        if pickles:
            raise ModelError(
                f"{name}: expected weights as safetensors, found only {pickles[0]}, a pickle, "
                f"which can run code; convert it where you trust it"
            )
        raise ModelError(f"{name}: expected model.safetensors in the folder, found none")


def first_line(problem: Exception) -> str:
    """The first line of an error message."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(problem).__name__


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' log messages and progress bars inside the block.

    One thread at a time is in it. transformers replaces functions of its classes while it loads a
    network; with two loads at once the replacement of one outlives both, and tied weights are never
    tied again in this process.
    """
    logging: Any = transformers.utils.logging
    with _ONE_THREAD:
        verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if bars:
                logging.enable_progress_bar()
