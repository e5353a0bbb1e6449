"""Keeps sentence vectors on disk between runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from metacross.model.sentence_encoder import SentenceEncoder, Vectors
from metacross.text.sentence import Sentence
from metacross.text.writing import discard


def cache_folder() -> Path:
    """``METACROSS_CACHE``, or a folder of the user's own."""
    named = os.environ.get("METACROSS_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metacross"


def cached_vectors(
    encoder: SentenceEncoder,
    sentences: Sequence[Sentence],
    *,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> Vectors:
    """The sentences' vectors, computed only where no file holds them under the key of all they
    depend on. A file that cannot be read or written is done without.
    """
    path = cache_folder() / "vectors" / f"{encoder.key(sentences)}.safetensors"
    try:
        vectors: Vectors = load_file(path)["vectors"]
    except (OSError, SafetensorError, KeyError):
        vectors = encoder.vectors(sentences, progress=progress)
        _keep(vectors, path)
    return vectors


def _keep(vectors: Vectors, path: Path) -> None:
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({"vectors": vectors}, unfinished)
        unfinished.replace(path)
    except (OSError, SafetensorError):
        discard(unfinished)
