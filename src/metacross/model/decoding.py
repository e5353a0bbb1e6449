"""Chooses the tags of a sentence by their probabilities."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Decoding: TypeAlias = Literal["viterbi", "argmax"]
_SMALLEST = 1e-12  # of a probability, before its logarithm


def best_tags(probabilities: Tensor, decoding: Decoding = "viterbi") -> list[int]:
    """The tag number of each word, in the numbers of a :class:`~metacross.text.tags.TagSet`.

    ``argmax`` is the most probable tag of each word. ``viterbi`` is the most probable sequence in
    which an ``I-`` tag only continues an entity of its label. *Shape:* (words, tags).
    """
    most_probable: list[int] = probabilities.argmax(dim=1).tolist()
    if decoding == "argmax" or _is_valid(most_probable):
        return most_probable
    return _best_valid_tags(probabilities.double().clamp(min=_SMALLEST).log().numpy())


def _is_valid(tag_ids: list[int]) -> bool:
    """Whether every ``I-`` tag continues an entity of its label. O is 0; the others are B, I of the
    first label, B, I of the second and so on.
    """
    before = 0
    for tag_id in tag_ids:
        is_inside = tag_id and tag_id % 2 == 0
        if is_inside and before not in (tag_id - 1, tag_id):
            return False
        before = tag_id
    return True


def _best_valid_tags(scores: NDArray[np.float64]) -> list[int]:
    """The valid sequence with the largest sum of scores. *Shape:* (words, tags)."""
    n_tags = scores.shape[1]
    inside = np.arange(2, n_tags, 2)  # the I- tags; their B- tags are one less
    best = scores[0].copy()  # of the sequences up to this word, by their last tag
    best[inside] = -np.inf
    came_from = np.empty(scores.shape, np.int64)
    for position in range(1, len(scores)):
        begun, continued = best[inside - 1], best[inside]
        before = best.argmax()  # of a tag that may follow any other
        came_from[position] = before
        came_from[position, inside] = np.where(continued > begun, inside, inside - 1)
        top = best[before]
        best = scores[position] + top
        best[inside] += np.maximum(begun, continued) - top
    tag_ids = [int(best.argmax())]
    for position in range(len(scores) - 1, 0, -1):
        tag_ids.append(int(came_from[position, tag_ids[-1]]))
    return tag_ids[::-1]
