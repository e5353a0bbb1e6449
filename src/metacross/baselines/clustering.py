"""Word vectors of an encoder, their clusters, and maps between vectors of two languages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metacross.errors import DataError
from metacross.model.encoder import encoder_of, load_encoder
from metacross.settings import EncoderSettings
from metacross.text.sentence import Sentence
from metacross.text.word_clusters import WordClusters
from metacross.text.word_vectors import WordVectors

_BATCH = 4_096  # words
_Matrix = NDArray[np.float32]


def encoder_vectors(words: Sequence[str], settings: EncoderSettings) -> WordVectors:
    """The mean of the input embeddings of each word's pieces."""
    encoder = load_encoder(settings.name)
    embeddings = encoder_of(encoder.network).get_input_embeddings()  # type: ignore[operator]
    cutter = encoder.tokenizer.window_cutter(max_length=settings.max_length, overlap=0)
    rows: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, len(words), _BATCH):
            sentences = [Sentence((word,)) for word in words[start : start + _BATCH]]
            pieces = [
                windows[0].piece_ids[windows[0].text_pieces]
                for windows in cutter.windows(sentences)
            ]
            flat = embeddings(torch.tensor([[piece for word in pieces for piece in word]]))[0]
            rows += [word.float().mean(dim=0) for word in torch.split(flat, list(map(len, pieces)))]
    return WordVectors(tuple(words), torch.stack(rows).numpy())


def centered(vectors: WordVectors) -> WordVectors:
    """The vectors minus their mean, of length 1."""
    return WordVectors(vectors.words, unit_length(vectors.matrix - vectors.matrix.mean(axis=0)))


def unit_length(matrix: _Matrix) -> _Matrix:
    """The rows, scaled to length 1."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: _Matrix = (matrix / np.maximum(lengths, 1e-8)).astype(np.float32)
    return unit


def k_means(
    vectors: WordVectors, n_clusters: int, *, seed: int, iterations: int = 15
) -> WordClusters:
    """Clusters of vectors of length 1 by their cosine. An empty cluster starts again at the vector
    that is farthest from its center.
    """
    if n_clusters > len(vectors):
        raise DataError(
            f"expected at least as many words as clusters ({n_clusters}), found {len(vectors)}"
        )
    matrix = torch.from_numpy(vectors.matrix)  # (words, width)
    rng = np.random.default_rng(seed)
    centers = matrix[torch.from_numpy(rng.choice(len(matrix), n_clusters, replace=False))]
    nearest = torch.zeros(len(matrix), dtype=torch.long)
    for _ in range(iterations):
        similarity, nearest = (matrix @ centers.T).max(dim=1)  # both (words,)
        sums = torch.zeros_like(centers).index_add_(0, nearest, matrix)
        empty = (torch.bincount(nearest, minlength=n_clusters) == 0).nonzero().flatten()
        if len(empty):
            sums[empty] = matrix[similarity.argsort()[: len(empty)]]
        centers = torch.nn.functional.normalize(sums)
    return WordClusters(
        {word: str(cluster) for word, cluster in zip(vectors.words, nearest.tolist(), strict=True)}
    )


def orthogonal_map(source: _Matrix, target: _Matrix) -> _Matrix:
    """The rotation that brings the rows of ``target`` nearest to those of ``source`` (Procrustes).
    *Shape:* source and target (pairs, width), result (width, width): ``target @ result``.
    """
    left, _, right = np.linalg.svd(target.T @ source)
    rotation: _Matrix = (left @ right).astype(np.float32)
    return rotation


def mapped(
    target: WordVectors, source: WordVectors, pairs: Iterable[tuple[str, str]]
) -> WordVectors:
    """Target vectors rotated into the space of the source's, by (source, target) word pairs."""
    if source.width != target.width:
        raise DataError(
            f"expected vectors of the same width in both languages, found {source.width} in the "
            f"source and {target.width} in the target"
        )
    known = [
        (source.positions[a], target.positions[b])
        for a, b in pairs
        if a in source.positions and b in target.positions
    ]
    if len(known) < target.width:
        raise DataError(
            f"expected at least {target.width} pairs of words with vectors, to map vectors of this "
            f"width, found {len(known)}"
        )
    rows = np.array(known)
    rotation = orthogonal_map(
        unit_length(source.matrix[rows[:, 0]]), unit_length(target.matrix[rows[:, 1]])
    )
    return WordVectors(target.words, unit_length(target.matrix) @ rotation)
