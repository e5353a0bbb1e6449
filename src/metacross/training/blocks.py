"""Adds up the gradients of a step in fixed blocks, whatever the number of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import torch
from torch import Tensor

from metacross.errors import SettingsError
from metacross.model.ranks import Ranks
from metacross.settings import Settings, settings_with

_T = TypeVar("_T")
DEFAULT_BLOCKS = 8
"""Blocks of a training under torchrun, so that up to eight processes can share it."""


@dataclass(frozen=True, slots=True)
class LossSum:
    """Sums over the items of a step: of their losses, and of the gradients of these, in the order
    of the trainable weights.
    """

    loss: float
    gradients: Sequence[Tensor]


OfBlock: TypeAlias = Callable[[int, Sequence[_T]], LossSum]
"""The sums over the items of a block, given its number; not called for empty blocks."""


def blocks_of(items: Sequence[_T], lengths: Sequence[int], n_blocks: int) -> list[Sequence[_T]]:
    """Cut the items of a step into blocks with about the same number of pieces, so that processes
    have equal work, and with similar lengths, so that little of it is padding. A block can be
    empty. One block holds the items as they are.

    >>> blocks_of(["aaaa", "b", "cc", "d"], [4, 1, 2, 1], 2)
    [['b', 'd', 'cc'], ['aaaa']]
    """
    if n_blocks == 1:
        return [items]
    blocks: list[list[_T]] = [[] for _ in range(n_blocks)]
    n_before, n_pieces = 0, sum(lengths)
    for position in sorted(range(len(items)), key=lambda i: lengths[i]):
        middle = 2 * n_before + lengths[position]  # of the item, in half pieces
        blocks[n_blocks * middle // (2 * n_pieces)].append(items[position])
        n_before += lengths[position]
    return [*blocks]


def own_sum(
    blocks: Sequence[Sequence[_T]], of_block: OfBlock[_T], weights: Iterable[Tensor], ranks: Ranks
) -> LossSum:
    """The sum over the blocks of this process. :func:`total` adds those of the others.

    Blocks are added in a binary tree, of which each process has a branch, so the order of all
    additions is the same for 1, 2, 4 and 8 processes.
    """
    if len(blocks) == 1:
        return of_block(0, blocks[0])
    shapes = list(weights)

    def folded(first: int, end: int) -> tuple[float, list[Tensor]]:
        if end - first > 1:
            middle = (first + end) // 2
            loss, gradients = folded(first, middle)
            other_loss, other_gradients = folded(middle, end)
            torch._foreach_add_(gradients, other_gradients)
            return loss + other_loss, gradients
        if not blocks[first]:
            return 0.0, [torch.zeros_like(weight) for weight in shapes]
        block_sum = of_block(first, blocks[first])
        return block_sum.loss, [gradient.contiguous() for gradient in block_sum.gradients]

    n_own = len(blocks) // ranks.size
    return LossSum(*folded(ranks.rank * n_own, (ranks.rank + 1) * n_own))


def total(own: LossSum, ranks: Ranks) -> LossSum:
    """The sum over all blocks, from the sums that the processes have."""
    if ranks.size == 1:
        return own
    (loss,) = ranks.summed([torch.tensor(own.loss, dtype=torch.float64)])
    return LossSum(loss.item(), ranks.summed(own.gradients))


def with_blocks(settings: Settings, recorded: int | None, ranks: Ranks) -> Settings:
    """The settings with the number of blocks decided: as they say, else as in the training that
    resumes, else eight under torchrun and one otherwise.

    ``recorded`` is the number of blocks of the training that resumes; None: there is none.
    """
    blocks = settings.run.blocks or recorded or (DEFAULT_BLOCKS if ranks.launched else 1)
    if blocks < ranks.size:
        raise SettingsError(
            f"run.blocks: expected {ranks.size} or more, because {ranks.size} processes share the "
            f"training, found {blocks}"
            + ("" if settings.run.blocks else " in the training to resume; use fewer processes")
        )
    return settings_with(settings, {"run": {"blocks": blocks if blocks > 1 else None}})
