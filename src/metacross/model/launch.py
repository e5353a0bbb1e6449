"""What torchrun says about this process; without torch, so that it is quick to ask."""

from __future__ import annotations

import os
from dataclasses import dataclass

from metacross.errors import SettingsError

SIZES = (1, 2, 4, 8)
"""The numbers of processes that can share a training."""
RESUME = "Run the same command again to resume."


@dataclass(frozen=True, slots=True)
class Launch:
    """Number ``rank`` of the ``size`` processes that torchrun started, ``local_rank`` of those on
    this machine.
    """

    rank: int
    size: int
    local_rank: int

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0


def torchrun_launch() -> Launch | None:
    """The launch that this process belongs to; None: torchrun did not start it."""
    variables = os.environ
    if "TORCHELASTIC_RUN_ID" not in variables:
        return None
    return Launch(
        rank=int(variables["RANK"]),
        size=int(variables["WORLD_SIZE"]),
        local_rank=int(variables["LOCAL_RANK"]),
    )


def check_size(launch: Launch) -> None:
    """Refuse a number of processes that cannot share a training."""
    if launch.size not in SIZES:
        choices = ", ".join(map(str, SIZES[:-1]))
        raise SettingsError(
            f"torchrun: expected {choices} or {SIZES[-1]} processes to share a training, found "
            f"{launch.size}; set --nproc-per-node"
        )
