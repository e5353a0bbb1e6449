"""The meta-step: learning to adapt (Algorithm 1, lines 4 to 10)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import torch
from torch import Tensor

from metacross.adaptation.gradient_recorder import UnsupportedLayer
from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.adaptation.textbook import adapted, dropout, gradients
from metacross.model.devices import seeded
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.training.inner_steps import FastLearner, can_learn_fast
from metacross.training.loop import Step, StepResult
from metacross.training.masking import EpochMasker
from metacross.training.sampling import Draw, Sampler
from metacross.training.tasks import Task


def maml_step(
    tagger: Tagger,
    examples: Sequence[Example],
    tasks: Sequence[Task],
    settings: Settings,
    adam: Adam,
) -> Step:
    """First-order MAML: sum the query gradients of a batch of tasks, each at the weights adapted to
    the task's support, and take one step of the outer optimizer.
    """
    meta, seed = settings.meta, settings.run.seed
    sampler = Sampler(len(tasks), meta.tasks_per_step, seed)
    masker = EpochMasker(tagger, examples, settings)
    learner = FastLearner(tagger, settings) if can_learn_fast(tagger) else None
    textbook = TextbookLearner(tagger, settings)

    def step_with(learner: Learner, number: int) -> StepResult:
        factor = learning_rate_factor(settings.schedule, number, meta.steps)
        inner_learning_rate = meta.inner_learning_rate * (factor if settings.schedule.inner else 1)
        losses = []
        with learner.block(), dropout(tagger, enabled=True):
            for draw in sampler.draws(number):
                task = tasks[draw.position]
                support = [masker.support(Draw(p, draw.epoch)) for p in task.support]
                query = masker.query(Draw(task.query, draw.epoch))
                with seeded(seed, number, task.query):
                    losses.append(learner.learn(support, query, learning_rate=inner_learning_rate))
        adam.step(learner.total, meta.outer_learning_rate * factor)
        mean = sum(losses) / len(losses)
        return StepResult(loss=mean, n_items=len(losses), used_fallback=learner is textbook)

    def step(number: int) -> StepResult:
        nonlocal learner
        if learner is not None:
            try:
                return step_with(learner, number)
            except UnsupportedLayer:  # raised before anything was changed
                learner = None
        return step_with(textbook, number)

    return step


class Learner(Protocol):
    """Computes the meta-gradients of tasks, one after another within a block."""

    @property
    def total(self) -> Sequence[Tensor]:
        """The sum of the meta-gradients of the block, in the order of the weights."""

    def block(self) -> AbstractContextManager[None]:
        """The tasks of one meta-step; after the block the tagger has its original weights."""

    def learn(self, support: Sequence[Example], query: Example, *, learning_rate: float) -> float:
        """Add a task's meta-gradient to the total; returns its loss."""


class TextbookLearner:
    """Adapts, takes the query's gradient and restores, task by task."""

    def __init__(self, tagger: Tagger, settings: Settings) -> None:
        self._tagger = tagger
        self._settings = settings
        self.total: list[Tensor] = []

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Start with a sum of zero."""
        self.total = [torch.zeros_like(weight) for weight in self._tagger.trainable.values()]
        yield

    def learn(self, support: Sequence[Example], query: Example, *, learning_rate: float) -> float:
        """Add a task's meta-gradient to the total; returns its loss."""
        loss, gradient = task_gradient(
            self._tagger, support, query, self._settings, inner_learning_rate=learning_rate
        )
        torch._foreach_add_(self.total, gradient)
        return loss


def task_gradient(
    tagger: Tagger,
    support: Sequence[Example],
    query: Example,
    settings: Settings,
    *,
    inner_learning_rate: float,
) -> tuple[float, tuple[Tensor, ...]]:
    """A task's loss and meta-gradient: the gradient of the query's loss at the adapted weights
    (Eq. 12).
    """
    max_weight = settings.loss.max_weight
    with adapted(
        tagger,
        support,
        steps=settings.meta.inner_steps,
        learning_rate=inner_learning_rate,
        max_weight=max_weight,
        optimizer=settings.optimizer,
    ):
        loss = tagger.loss(tagger.batch([query]), max_weight=max_weight)
        return loss.item(), gradients(loss, tagger)
