"""The cores that this process may use, and the threads of torch on them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import torch

_OMP_THREADS = "OMP_NUM_THREADS"


def available_cores(root: Path = Path("/")) -> int:
    """How many cores this process may use: those of the machine, less by its affinity (``taskset``,
    batch systems) and by the limit of its control group (containers). At least 1.

    ``root`` is where ``proc`` and ``sys`` are found.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    n_cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    limits = [math.ceil(limit) for limit in _group_limits(root)]
    return max(1, min([n_cores, *limits]))


def use_threads(n_threads: int | None) -> None:
    """Let torch use this number of threads.

    None: the number it has, but not more than there are cores for this process, unless the
    environment variable ``OMP_NUM_THREADS`` says how many.
    """
    if n_threads is None:
        if os.environ.get(_OMP_THREADS):
            return
        n_threads = min(torch.get_num_threads(), available_cores())
    if n_threads != torch.get_num_threads():
        torch.set_num_threads(n_threads)


def _group_limits(root: Path) -> Iterator[float]:
    """Cores by the limits of the control group of this process and of the groups around it."""
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            for folder in _with_parents(root / "sys/fs/cgroup", group):
                yield from _limit(_words(folder / "cpu.max"))
        elif "cpu" in controllers.split(","):
            for name in (controllers, "cpu"):
                for folder in _with_parents(root / "sys/fs/cgroup" / name, group):
                    quota = _words(folder / "cpu.cfs_quota_us")
                    yield from _limit([*quota, *_words(folder / "cpu.cfs_period_us")])


def _with_parents(top: Path, group: str) -> Iterator[Path]:
    folder = top / group.lstrip("/")
    yield folder
    for parent in folder.parents:
        if not parent.is_relative_to(top):
            return
        yield parent


def _words(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").split()
    except OSError:
        return []


def _limit(quota_and_period: list[str]) -> Iterator[float]:
    """Cores by the microseconds of a quota and of its period; "max" and -1 mean no limit."""
    if len(quota_and_period) == 2 and quota_and_period[0].isdigit():
        quota, period = map(int, quota_and_period)
        if quota and period:
            yield quota / period
