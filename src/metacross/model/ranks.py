"""The processes that share a training under torchrun, and what they exchange."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import Store

from metacross.errors import RunError, SettingsError
from metacross.model.launch import RESUME, check_size, torchrun_launch

_SECONDS_BETWEEN_LOOKS = 0.2
_TIMEOUT = timedelta(minutes=30)  # torchrun ends the others much sooner when a process ends

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Ranks:
    """Number ``rank`` of ``size`` processes that do the same and share out the work of each step.

    All of them call the same methods in the same order. When a process has ended, the next call
    fails in the others.
    """

    rank: int = 0
    size: int = 1
    launched: bool = False
    """Whether torchrun started them, also if there is one only."""
    local_rank: int = 0
    """Its number among the processes of this machine."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes files, logs and shows progress."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.any(False)

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in at least one process."""
        return self.added([int(flag)])[0] > 0

    def added(self, counts: Sequence[int]) -> list[int]:
        """The sums of integers over the processes."""
        if self.size == 1:
            return list(counts)
        total = torch.tensor(counts)
        with _exchange():
            dist.all_reduce(total)
        return [int(count) for count in total]

    def summed(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The sums of tensors over the processes, in a binary tree: those of neighbors are added
        first. All processes get the same bits, because ``a + b`` is ``b + a``.
        """
        if self.size == 1:
            return list(tensors)
        device = tensors[0].device
        total = torch.cat([tensor.reshape(-1) for tensor in tensors])
        total = total if device.type in ("cpu", "cuda") else total.cpu()
        distance = 1
        while distance < self.size:
            received = torch.empty_like(total)
            with _exchange():
                _swap(total, received, self.rank ^ distance)
            total += received
            distance *= 2
        parts = torch.split(total.to(device), [tensor.numel() for tensor in tensors])
        return [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]

    def shared(self, items: Sequence[_T], work: Callable[[_T], _R]) -> list[_R]:
        """The results of the work on all items, in their order; each process does a share of it.
        They are pickled.
        """
        own = [work(item) for item in items[self.rank :: self.size]]
        if self.size == 1:
            return own
        gathered: list[list[_R]] = [[] for _ in range(self.size)]
        with _exchange():
            dist.all_gather_object(gathered, own)
        return [gathered[i % self.size][i // self.size] for i in range(len(items))]


ALONE = Ranks()
"""A process that shares nothing."""


def _swap(sent: Tensor, received: Tensor, peer: int) -> None:
    operations = [dist.P2POp(dist.isend, sent, peer), dist.P2POp(dist.irecv, received, peer)]
    for request in dist.batch_isend_irecv(operations):
        request.wait()


@contextlib.contextmanager
def _exchange() -> Iterator[None]:
    """Turn the errors of lost connections into one that names what to do."""
    try:
        yield
    except RuntimeError as problem:  # all that torch.distributed raises
        raise RunError(f"torchrun: another process has ended. {RESUME}") from (problem)


_alone = False


@contextlib.contextmanager
def working_alone() -> Iterator[None]:
    """Inside the block a training is not shared: the processes of torchrun do other ones."""
    global _alone
    before, _alone = _alone, True
    try:
        yield
    finally:
        _alone = before


def joined_ranks() -> Ranks:
    """The processes that torchrun started, connected; ``ALONE`` where it started none.

    Each uses OMP_NUM_THREADS threads, one if that is not set: as torchrun does, but for a single
    process as well, so that the weights do not depend on the number of processes.
    """
    launch = torchrun_launch()
    if launch is None or _alone:
        return ALONE
    check_size(launch)
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    if launch.size > 1 and not dist.is_initialized():
        with _exchange():
            has_gpus = torch.cuda.is_available() and dist.is_nccl_available()
            dist.init_process_group(
                "cpu:gloo,cuda:nccl" if has_gpus else "gloo",
                store=store(),
                rank=launch.rank,
                world_size=launch.size,
                timeout=_TIMEOUT,
            )
        atexit.register(dist.destroy_process_group)
    return Ranks(launch.rank, launch.size, launched=True, local_rank=launch.local_rank)


def refuse_sharing(what: str) -> None:
    """Refuse several processes for work that they cannot share; in a study each does its own."""
    launch = torchrun_launch()
    if launch is not None and launch.size > 1 and not _alone:
        raise SettingsError(f"torchrun: {what}: expected one process, found {launch.size}")


@cache
def store() -> Store:
    """The small key-value store of the processes of torchrun. It outlives each of them."""
    rendezvous: Iterator[tuple[Store, int, int]] = dist.rendezvous("env://", timeout=_TIMEOUT)  # type: ignore[attr-defined]
    return next(rendezvous)[0]


class Counter:
    """A number, first 0, that all processes of torchrun can raise. They make their counters in the
    same order.
    """

    def __init__(self) -> None:
        self._name = f"counter {next(_counters)}"

    def raised(self) -> int:
        """Add 1; no other process gets the same result."""
        return self._added(1)

    def wait_for(self, value: int) -> None:
        """Wait, for any time, until the number is ``value`` or more."""
        while self._added(0) < value:
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _added(self, n: int) -> int:
        with _exchange():
            value: int = store().add(self._name, n)
        return value


_counters = itertools.count()


def is_first_to_report() -> bool:
    """Whether no process has reported an error yet, so that the user reads one line only."""
    if torchrun_launch() is None:
        return True
    try:
        n_reports: int = store().add("errors", 1)
    except RuntimeError:  # the store is lost, and with it whoever could have reported
        return True
    return n_reports == 1
