"""Devices, precision and random seeds of torch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from metacross.errors import SettingsError
from metacross.model.launch import torchrun_launch


def resolve_device(name: str) -> torch.device:
    """The device with a name; ``auto`` is the first available of cuda, mps and cpu. Under torchrun
    each process of a machine has its own ``cuda`` device.
    """
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return _gpu()
    if name == "auto":
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as problem:
        reason = str(problem).splitlines()[0]
        raise SettingsError(
            f"run.device: expected auto, cpu or a device of this machine, found {name!r} ({reason})"
        ) from None
    return device


def _gpu() -> torch.device:
    launch, n_gpus = torchrun_launch(), torch.cuda.device_count()
    if launch is None:
        return torch.device("cuda")
    if launch.local_rank >= n_gpus:
        raise SettingsError(
            f"torchrun: expected at most {n_gpus} processes, one for each GPU, found more; set "
            "--nproc-per-node, or run.device=cpu"
        )
    return torch.device("cuda", launch.local_rank)


@contextlib.contextmanager
def autocast(name: str, device: torch.device) -> Iterator[None]:
    """Multiply in ``float32`` or, by autocast, in ``bfloat16``."""
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=name == "bfloat16"):
        yield


@contextlib.contextmanager
def seeded(*seeds: int) -> Iterator[None]:
    """Inside the block torch's random numbers (dropout, new weights) come from these seeds.

    They do not depend on what was drawn before, so that work can resume in the middle or run in
    another order. After the block the random state is as before.
    """
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(combined_seed(*seeds))
        yield


def combined_seed(*seeds: int) -> int:
    """Combine seeds into one; other seeds or another order give another result.

    >>> combined_seed(1, 2) != combined_seed(2, 1)
    True
    """
    combined = 0x9E3779B97F4A7C15
    for seed in seeds:
        combined ^= seed + 0x9E3779B97F4A7C15
        combined = (combined * 0xBF58476D1CE4E5B9) % 2**64
        combined ^= combined >> 31
    return combined % 2**63
