"""Packs the counts of many sentences into a short string, to be stored with a result."""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np

from metacross.metrics.significance import Counts


def packed_counts(counts: Counts) -> str:
    """Counts of correct, predicted and gold entities, compressed and in base64.

    *Shape:* (sentences, 3).

    >>> unpacked_counts(packed_counts(np.array([[1, 2, 1], [0, 0, 3]]))).tolist()
    [[1, 2, 1], [0, 0, 3]]
    """
    columns = counts.T.astype("<u2").tobytes()  # equal numbers stand together and compress well
    return base64.b64encode(zlib.compress(columns, 9)).decode("ascii")


def unpacked_counts(packed: str) -> Counts:
    """The counts that :func:`packed_counts` packed; ValueError if the string is something else.

    *Shape:* result (sentences, 3).
    """
    try:
        columns = zlib.decompress(base64.b64decode(packed, validate=True))
    except (binascii.Error, zlib.error):
        raise ValueError("cannot be unpacked") from None
    if not columns or len(columns) % 6:
        raise ValueError("cannot be unpacked into three counts for each sentence")
    return np.frombuffer(columns, dtype="<u2").astype(np.int64).reshape(3, -1).T
