"""A lexicon made of word vectors of two languages, without a dictionary (after Xie et al. 2018)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from metacross.baselines.clustering import mapped, unit_length
from metacross.text.lexicon import Lexicon
from metacross.text.word_vectors import WordVectors

_REFINEMENTS = 3
_FREQUENT = 10_000  # words that a map is refined with; files have frequent words first
_NEIGHBORS = 10  # whose similarity says how crowded the place of a word is
_BLOCK = 1_024  # words whose similarities are held at once


def induced_lexicon(source: WordVectors, target: WordVectors) -> Lexicon:
    """The nearest target word of each source word.

    The target's vectors are rotated to those of words that are spelled alike in both languages,
    and again to those of frequent words that are each other's nearest.
    """
    alike = [(word, word) for word in source.words if word in target.positions]
    rotated = mapped(target, source, alike)
    for _ in range(_REFINEMENTS):
        rotated = mapped(target, source, mutual_pairs(source, rotated))
    words = nearest_words(_unit(source, None), _unit(rotated, None))
    pairs = zip(source.words, words.tolist(), strict=True)
    return Lexicon.of(
        ((word, target.words[place], 1.0) for word, place in pairs), "lexicon of the word vectors"
    )


def mutual_pairs(source: WordVectors, target: WordVectors) -> list[tuple[str, str]]:
    """Frequent words of two languages that are each other's nearest."""
    rows, columns = _unit(source, _FREQUENT), _unit(target, _FREQUENT)
    forth, back = nearest_words(rows, columns), nearest_words(columns, rows)
    return [
        (source.words[i], target.words[j])
        for i, j in enumerate(forth.tolist())
        if int(back[j]) == i
    ]


def nearest_words(rows: Tensor, columns: Tensor) -> Tensor:
    """The place of the nearest column of each row by cross-domain similarity (CSLS): the cosine,
    less where a word is near to many. *Shape:* (words, width) both, result (words,).
    """
    crowding = _crowding(columns, rows)  # that of a row shifts all of its similarities alike
    nearest = [(2 * block @ columns.T - crowding).argmax(dim=1) for block in _blocks(rows)]
    return torch.cat(nearest)


def _crowding(words: Tensor, others: Tensor) -> Tensor:
    """The mean cosine of each word's nearest others. *Shape:* (words,)."""
    k = min(_NEIGHBORS, len(others))
    means = [(block @ others.T).topk(k, dim=1).values.mean(dim=1) for block in _blocks(words)]
    return torch.cat(means)


def _blocks(words: Tensor) -> tuple[Tensor, ...]:
    return torch.split(words, _BLOCK)


def _unit(vectors: WordVectors, n_words: int | None) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(unit_length(vectors.matrix[:n_words])))
