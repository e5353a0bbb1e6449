"""Carries a model folder elsewhere: to another folder, or as bytes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from metacross.errors import ModelError
from metacross.model.model_mark import is_model_folder, model_files

MAX_PACKED_BYTES = 2**31 - 1
"""What fits in one value of msgpack, in which spaCy packs pipelines."""


def copy_model(source: Path, target: Path) -> None:
    """Copy the files of a model; an older model in ``target`` is replaced.

    The file that marks a folder as complete is copied last.
    """
    if target.exists() and target.resolve() == source.resolve():
        return
    files = model_files(source)
    try:
        if is_model_folder(target):
            for file in reversed(model_files(target)):
                (target / file).unlink()
        for file in files:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, target / file)
    except OSError as problem:
        raise ModelError(f"{target}: the model cannot be copied: {problem}") from problem


def packed_model(folder: Path) -> dict[str, bytes]:
    """The content of each file of a model, by its path in the folder."""
    files = model_files(folder)
    n_bytes = sum((folder / file).stat().st_size for file in files)
    if n_bytes > MAX_PACKED_BYTES:
        raise ModelError(
            f"{folder}: expected at most {MAX_PACKED_BYTES:,} bytes to pack, found {n_bytes:,}; "
            "use to_disk"
        )
    return {file.as_posix(): (folder / file).read_bytes() for file in files}


def unpack_model(contents: Mapping[str, Any], folder: Path) -> None:
    """Write the files of a packed model to a folder."""
    for name, content in contents.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not isinstance(content, bytes):
            raise ModelError(f"expected the files of a packed model, found {name!r}")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for a model on its way; deleted at the end of the ``with`` block."""
    return tempfile.TemporaryDirectory(prefix="metacross-")
