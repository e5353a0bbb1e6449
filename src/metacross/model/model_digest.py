"""Identifies the contents of a model folder without loading it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from metacross.model.model_mark import model_files
from metacross.text.resource_files import file_digest


def model_digest(folder: str | Path) -> str:
    """A string that changes when a prediction of the model can change: with its weights, its
    recipe, its source sentences and what it remembers; not with its card.
    """
    folder = Path(folder)
    digest = hashlib.sha256()
    for file in model_files(folder):
        if file.suffix != ".md":
            digest.update(f"{file} {file_digest(folder / file)}\n".encode())
    return digest.hexdigest()
