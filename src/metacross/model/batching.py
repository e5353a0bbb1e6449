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


def padding_groups(lengths: Sequence[int], *, overhead: int = 64) -> list[list[int]]:
    """Positions of sentences in groups of similar length, so that little of the work is padding.

    A group costs as many pieces as it has when padded to its longest sentence, and ``overhead``.

    >>> padding_groups([5, 40, 6, 38], overhead=10)
    [[0, 2], [3, 1]]
    """
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    costs, starts = [0], [0]  # of the cheapest groups up to each place, and where the last begins
    for end in range(1, len(order) + 1):
        longest = lengths[order[end - 1]]
        cost, start = min(
            (costs[start] + (end - start) * longest + overhead, start) for start in range(end)
        )
        costs.append(cost)
        starts.append(start)
    groups, end = [], len(order)
    while end:
        groups.append(order[starts[end] : end])
        end = starts[end]
    return groups[::-1]
