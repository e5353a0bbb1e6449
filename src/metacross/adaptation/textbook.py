"""Fits a tagger to a few sentences, and takes it back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from metacross.adaptation.optimizers import Adam
from metacross.model.tagger import Example, Tagger
from metacross.settings import OptimizerSettings


@contextlib.contextmanager
def adapted(
    tagger: Tagger,
    support: Sequence[Example],
    *,
    steps: int,
    learning_rate: float,
    max_weight: float,
    optimizer: OptimizerSettings,
) -> Iterator[Tagger]:
    """Take gradient steps on the support (Eq. 7 and 8), with a fresh optimizer; inside the block
    the tagger has the adapted weights, after it, however it ends, its own.

    Whether there is dropout in the steps is as the tagger's network is set.
    """
    before = [weight.detach().clone() for weight in tagger.trainable.values()]
    try:
        adam = Adam(tagger.trainable, optimizer)
        batch = tagger.batch(support)
        for _ in range(steps):
            loss = tagger.loss(batch, max_weight=max_weight)
            adam.step(gradients(loss, tagger), learning_rate)
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
