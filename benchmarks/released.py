"""Adaptation and meta-training as the paper's released code does it, rewritten for comparison.

Every sentence is padded to 128 pieces. Every adaptation creates a new optimizer, copies all weights
and restores them afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from metacross.model.tagger import Example, Tagger, TaggerBatch

_MAX_LENGTH = 128


def padded_batch(tagger: Tagger, examples: Sequence[Example]) -> TaggerBatch:
    """A batch with all rows padded to the maximum length."""
    batch = tagger.batch(examples)
    padding = (0, max(0, _MAX_LENGTH - batch.piece_ids.shape[1]))
    return replace(
        batch,
        piece_ids=functional.pad(batch.piece_ids, padding, value=tagger.tokenizer.special.pad),
        attention=functional.pad(batch.attention, padding),
    )


@contextlib.contextmanager
def adapted(
    tagger: Tagger,
    support: Sequence[Example],
    *,
    steps: int,
    learning_rate: float,
    max_weight: float,
) -> Iterator[None]:
    """Inside the block the tagger has weights adapted to a support."""
    weights = list(tagger.trainable.values())
    before = [weight.detach().clone() for weight in weights]
    optimizer = torch.optim.Adam(weights, lr=learning_rate, foreach=False)
    batch = padded_batch(tagger, support)
    for _ in range(steps):
        optimizer.zero_grad()
        tagger.loss(batch, max_weight=max_weight).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    optimizer.zero_grad()
    yield
    with torch.no_grad():
        for weight, old in zip(weights, before, strict=True):
            weight.copy_(old)


def label(
    tagger: Tagger, example: Example, support: Sequence[Example], learning_rate: float
) -> Tensor:
    """Logits of a sentence after adapting to a support. *Shape:* (words, tags)."""
    with (
        adapted(tagger, support, steps=1, learning_rate=learning_rate, max_weight=0.0),
        torch.no_grad(),
    ):
        return tagger.logits(padded_batch(tagger, [example]))


def add_meta_gradient(
    tagger: Tagger,
    support: Sequence[Example],
    query: Example,
    total: dict[str, Tensor],
    *,
    steps: int,
    learning_rate: float,
    max_weight: float,
) -> None:
    """Add the gradient of the query at the adapted weights to ``total``."""
    with adapted(tagger, support, steps=steps, learning_rate=learning_rate, max_weight=max_weight):
        loss = tagger.loss(padded_batch(tagger, [query]), max_weight=max_weight)
        loss.backward()  # type: ignore[no-untyped-call]
        for name, weight in tagger.trainable.items():
            if weight.grad is not None:
                total[name] = total.get(name, torch.zeros_like(weight)) + weight.grad
                weight.grad = None
