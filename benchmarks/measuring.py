"""Times several implementations of the same work in turns, because machines are noisy."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import torch

Variant: TypeAlias = Callable[[int], int]
"""One implementation. Does the work of a repeat, given by its number; returns the item count."""


def time_in_turns(variants: Mapping[str, Variant], *, repeats: int) -> dict[str, list[float]]:
    """Seconds per item by variant and repeat; repeat 0 is a warm-up and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for repeat in range(repeats + 1):
        for name, variant in variants.items():
            start = time.perf_counter()
            n_items = variant(repeat)
            if repeat:
                seconds[name].append((time.perf_counter() - start) / n_items)
    return seconds


def summary(seconds: Mapping[str, list[float]], baseline: str) -> dict[str, dict[str, float]]:
    """The median time of each variant, and the median, lowest and highest of its ratios to the
    baseline in the same repeat.
    """
    summaries = {}
    for name, times in seconds.items():
        ratios = [a / b for a, b in zip(times, seconds[baseline], strict=True)]
        summaries[name] = {
            "milliseconds": 1000 * statistics.median(times),
            "ratio": statistics.median(ratios),
            "lowest_ratio": min(ratios),
            "highest_ratio": max(ratios),
        }
    return summaries


def machine() -> dict[str, str | int]:
    """The machine and the versions that the results were measured with."""
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


def machine_line() -> str:
    """The machine in a line of text."""
    found = machine()
    return (
        f"{found['processor']}, {found['cores']} cores, {found['threads']} threads of torch, "
        f"Python {found['python']}, torch {found['torch']}"
    )


def load_line() -> str:
    """How busy other programs keep the machine; to be asked for before a run."""
    return f"load average {os.getloadavg()[0]:.1f} before the run"
