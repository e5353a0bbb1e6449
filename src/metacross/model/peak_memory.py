"""Measures the peak memory of this process, where the system tells it (Linux)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_PROCESS = Path("/proc/self")
_RESET_PEAK = "5"


class PeakMemory:
    """The peak memory inside a block of :func:`peak_memory`; None where it is not known."""

    megabytes: int | None = None


@contextlib.contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Measure the peak of the process inside the block, with what it held before."""
    peak = PeakMemory()
    try:
        (_PROCESS / "clear_refs").write_text(_RESET_PEAK, encoding="ascii")
        was_reset = True
    except OSError:
        was_reset = False
    try:
        yield peak
    finally:
        if was_reset:
            peak.megabytes = _highest_megabytes()


def _highest_megabytes() -> int | None:
    with contextlib.suppress(OSError):
        for line in (_PROCESS / "status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) // 1024
    return None
