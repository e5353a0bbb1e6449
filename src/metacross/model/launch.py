"""What torchrun says about this process; without torch, so that it is quick to ask."""

from __future__ import annotations

import os
from dataclasses import dataclass

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
