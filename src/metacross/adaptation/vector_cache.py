"""Caches sentence vectors on disk between runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from metacross.errors import ModelError
from metacross.model.array_file import ArrayPlan, MappedArray, computed_array, opened_array
from metacross.model.ranks import ALONE, Ranks
from metacross.model.sentence_encoder import SentenceEncoder, Vectors
from metacross.text.sentence import Sentence
from metacross.text.windows import Window

BLOCK = 16_384
"""Sentences that are tokenized and sorted by length together."""


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
    max_in_memory: int | None = None,
    ranks: Ranks = ALONE,
) -> Vectors | MappedArray:
    """The sentences' vectors, from the cache if they are in it.

    The key of the cache covers everything that the vectors depend on. ``windows`` are those of the
    sentences, None where they are not tokenized yet. If the computation is killed, the next call
    resumes it. More than ``max_in_memory`` vectors are read from the cache as they are needed;
    None: all are in memory. If the cache cannot be written, those that fit are computed in memory.
    Processes share out this work.
    """
    path = cache_folder() / "vectors" / f"{encoder.key(sentences)}.safetensors"
    fits = max_in_memory is None or len(sentences) <= max_in_memory

    def compute(start: int, end: int) -> Vectors:
        report = partial(_report, progress, start)
        if windows is None:
            return encoder.vectors(sentences[start:end], progress=report, ranks=ranks)
        return encoder.vectors_of_windows(windows[start:end], progress=report, ranks=ranks)

    try:
        mapped = opened_array(path)
        if ranks.any(mapped is None) or mapped is None:
            width = compute(0, 1).shape[1]
            plan = ArrayPlan("vectors", (len(sentences), width), rows_at_once=BLOCK)
            mapped = computed_array(path, plan, compute, progress, ranks)
    except OSError as problem:
        if not fits or ranks.size > 1:
            raise ModelError(
                f"{path.parent}: expected room for {len(sentences):,} sentence vectors, found: "
                f"{problem.strerror}; METACROSS_CACHE names another folder"
            ) from problem
        starts = range(0, len(sentences), BLOCK)
        return np.concatenate([compute(s, min(s + BLOCK, len(sentences))) for s in starts])
    return mapped[:] if fits else mapped


def _report(progress: Callable[[int], None], n_before: int, n_done: int) -> None:
    progress(n_before + n_done)
