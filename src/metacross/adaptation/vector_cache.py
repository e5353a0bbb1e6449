"""Caches sentence vectors on disk between runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from metacross.model.ranks import ALONE, Ranks
from metacross.model.sentence_encoder import SentenceEncoder, Vectors
from metacross.text.atomic_files import atomic_path
from metacross.text.sentence import Sentence
from metacross.text.windows import Window


def cache_folder() -> Path:
    """``METACROSS_CACHE``, or ``metacross`` in the user's cache folder."""
    folder = os.environ.get("METACROSS_CACHE")
    if folder:
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metacross"


def cached_vectors(
    encoder: SentenceEncoder,
    sentences: Sequence[Sentence],
    *,
    windows: Sequence[Sequence[Window]] | None = None,
    progress: Callable[[int], None] = lambda _n_done: None,
    ranks: Ranks = ALONE,
) -> Vectors:
    """The sentences' vectors, from the cache if they are in it.

    The key of the cache covers everything that the vectors depend on. ``windows`` are those of the
    sentences, None where they are not tokenized yet. If the cache cannot be read or written, the
    vectors are computed. Processes share out this work; the first one writes the cache.
    """
    path = cache_folder() / "vectors" / f"{encoder.key(sentences)}.safetensors"
    vectors = _load(path)
    if ranks.any(vectors is None) or vectors is None:
        vectors = (
            encoder.vectors(sentences, progress=progress, ranks=ranks)
            if windows is None
            else encoder.vectors_of_windows(windows, progress=progress, ranks=ranks)
        )
        if ranks.is_first:
            _save(vectors, path)
    return vectors


def _load(path: Path) -> Vectors | None:
    """The vectors of a file; None: it does not exist or cannot be read."""
    try:
        vectors: Vectors = load_file(path)["vectors"]
    except (OSError, SafetensorError, KeyError):
        return None
    return vectors


def _save(vectors: Vectors, path: Path) -> None:
    with contextlib.suppress(OSError, SafetensorError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            save_file({"vectors": vectors}, temporary)
