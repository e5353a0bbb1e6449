"""Groups sentences of similar length into batches."""

from __future__ import annotations

from collections.abc import Sequence

from metacross.text.windows import Window


def length_batches(windows: Sequence[Sequence[Window]], *, max_pieces: int) -> list[list[int]]:
    """Positions of sentences in batches of similar length, shortest first.

    ``windows`` holds the windows of each sentence. A batch, padded to its longest window, has at
    most ``max_pieces`` pieces, unless a single sentence has more.
    """
    order = sorted(range(len(windows)), key=lambda i: sum(map(len, windows[i])))
    batches: list[list[int]] = []
    n_windows = 0
    for position in order:
        longest = max(map(len, windows[position]))
        n_windows += len(windows[position])
        if not batches or n_windows * longest > max_pieces:
            batches.append([])
            n_windows = len(windows[position])
        batches[-1].append(position)
    return batches
