"""Adaptation by the textbook: copy the weights, take gradient steps, restore."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from metacross.adaptation.optimizers import inner_optimizer
from metacross.model.tagger import Example, Tagger
from metacross.settings import InnerOptimizer, OptimizerSettings


@contextlib.contextmanager
def adapted(
    tagger: Tagger,
    support: Sequence[Example],
    *,
    steps: int,
    learning_rate: float,
    max_weight: float,
    optimizer: OptimizerSettings,
    optimizer_name: InnerOptimizer = "adam",
) -> Iterator[Tagger]:
    """Take gradient steps on the support (Eq. 7 and 8) with a fresh optimizer.

    Inside the block the tagger has the adapted weights; after it, also after an exception, the
    original ones. Dropout in the steps is on or off as in the tagger's network.
    """
    before = [weight.detach().clone() for weight in tagger.trainable.values()]
    try:
        updates = inner_optimizer(optimizer_name, tagger.trainable, optimizer)
        batch = tagger.batch(support)
        for _ in range(steps):
            loss = tagger.loss(batch, max_weight=max_weight)
            updates.step(gradients(loss, tagger), learning_rate)
        yield tagger
    finally:
        _restore(tagger, before)


def gradients(loss: Tensor, tagger: Tagger) -> tuple[Tensor, ...]:
    """The gradients of a loss, in the order of the trainable weights."""
    weights = list(tagger.trainable.values())
    return torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)


@torch.no_grad()
def _restore(tagger: Tagger, before: Sequence[Tensor]) -> None:
    for weight, old in zip(tagger.trainable.values(), before, strict=True):
        weight.copy_(old)


@contextlib.contextmanager
def dropout(tagger: Tagger, *, enabled: bool) -> Iterator[None]:
    """Turn dropout on or off inside the block."""
    was_training = tagger.network.training
    tagger.network.train(enabled)
    try:
        yield
    finally:
        tagger.network.train(was_training)
