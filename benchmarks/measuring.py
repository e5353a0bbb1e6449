"""Times several ways of doing one thing in turns, as machines are noisy."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import torch

Way: TypeAlias = Callable[[int], int]
"""Does the work of a repeat, given by its number, and says how many things it did."""


def in_turns(ways: Mapping[str, Way], *, repeats: int) -> dict[str, list[float]]:
    """Seconds for each thing done, by way and repeat; a first turn warms up and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(repeats + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            n_done = way(repeat)
            if repeat:
                seconds[name].append((time.perf_counter() - start) / n_done)
    return seconds


def summary(seconds: Mapping[str, list[float]], ours: str) -> dict[str, dict[str, float]]:
    """The median time of each way, and the median over repeats of how many times ours it takes."""
    return {
        name: {
            "milliseconds": 1000 * statistics.median(own),
            "times_ours": statistics.median(a / b for a, b in zip(own, seconds[ours], strict=True)),
            "lowest_times_ours": min(a / b for a, b in zip(own, seconds[ours], strict=True)),
            "highest_times_ours": max(a / b for a, b in zip(own, seconds[ours], strict=True)),
        }
        for name, own in seconds.items()
    }


def machine() -> dict[str, str | int]:
    """What the figures were measured on."""
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count() or 0,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
