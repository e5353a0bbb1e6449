"""The meta-step: learning to adapt (Algorithm 1, lines 4 to 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from metacross.adaptation.gradient_recorder import UnsupportedLayer
from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.adaptation.textbook import adapted, dropout, gradients
from metacross.model.devices import seeded
from metacross.model.ranks import ALONE, Ranks
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.training.blocks import LossSum, blocks_of, own_sum, total
from metacross.training.loop import Step, StepResult
from metacross.training.low_rank_learner import LowRankLearner, can_learn_side_by_side
from metacross.training.masking import EpochMasker
from metacross.training.sampling import Draw, Sampler
from metacross.training.tasks import Task, TaskExamples


def maml_step(
    tagger: Tagger,
    examples: Sequence[Example],
    tasks: Sequence[Task],
    settings: Settings,
    adam: Adam,
    ranks: Ranks = ALONE,
) -> Step:
    """First-order MAML: sum the query gradients of a batch of tasks, each at the weights adapted to
    the task's support, and take one step of the outer optimizer. Processes share out the tasks.
    """
    meta, seed = settings.meta, settings.run.seed
    sampler = Sampler(len(tasks), meta.tasks_per_step, seed)
    masker = EpochMasker(tagger, examples, settings)
    weights = list(tagger.trainable.values())
    textbook = TextbookLearner(tagger, settings)
    learner: Learner = textbook
    if can_learn_side_by_side(tagger, settings):
        learner = LowRankLearner(tagger, settings)

    def task_examples(draw: Draw) -> TaskExamples:
        task = tasks[draw.position]
        support = tuple(masker.support(Draw(p, draw.epoch)) for p in task.support)
        return TaskExamples(task.query, support, masker.query(Draw(task.query, draw.epoch)))

    def step(number: int) -> StepResult:
        nonlocal learner
        factor = learning_rate_factor(settings.schedule, number, meta.steps)
        inner_learning_rate = meta.inner_learning_rate * (factor if settings.schedule.inner else 1)
        drawn = [task_examples(draw) for draw in sampler.draws(number)]
        blocks = blocks_of(drawn, [task.n_pieces for task in drawn], settings.run.blocks or 1)

        def of_block(_number: int, block: Sequence[TaskExamples]) -> LossSum:
            return learner.meta_gradient(
                block, learning_rate=inner_learning_rate, seeds=(seed, number)
            )

        def own() -> LossSum:
            return own_sum(blocks, of_block, weights, ranks)

        with dropout(tagger, enabled=True):
            own_gradient = _unless_unsupported(own)
            if learner is not textbook and ranks.any(own_gradient is None):
                learner, own_gradient = textbook, None
            meta_gradient = total(own_gradient or own(), ranks)
        adam.step(meta_gradient.gradients, meta.outer_learning_rate * factor)
        used_fallback = learner is textbook and meta.inner_optimizer != "adam"
        return StepResult(meta_gradient.loss / len(drawn), len(drawn), used_fallback)

    return step


def _unless_unsupported(compute: Callable[[], LossSum]) -> LossSum | None:
    """What ``compute`` gives; None if the fast meta-step does not support the network."""
    try:
        return compute()
    except UnsupportedLayer:
        return None


class Learner(Protocol):
    """Computes the meta-gradients of tasks; afterwards the tagger has its original weights."""

    def meta_gradient(
        self, tasks: Sequence[TaskExamples], *, learning_rate: float, seeds: tuple[int, ...]
    ) -> LossSum:
        """The sum of the tasks' losses and of their gradients; ``seeds`` are those of dropout."""


class TextbookLearner:
    """Adapts, takes the query's gradient and restores, task by task."""

    def __init__(self, tagger: Tagger, settings: Settings) -> None:
        self._tagger = tagger
        self._settings = settings

    def meta_gradient(
        self, tasks: Sequence[TaskExamples], *, learning_rate: float, seeds: tuple[int, ...]
    ) -> LossSum:
        """The sum of the tasks' losses and of their gradients."""
        total = [torch.zeros_like(weight) for weight in self._tagger.trainable.values()]
        losses = 0.0
        for task in tasks:
            with seeded(*seeds, task.position):
                loss, gradient = task_gradient(
                    self._tagger,
                    task.support,
                    task.query,
                    self._settings,
                    inner_learning_rate=learning_rate,
                )
            torch._foreach_add_(total, gradient)
            losses += loss
        return LossSum(losses, total)


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
        optimizer_name=settings.meta.inner_optimizer,
    ):
        loss = tagger.loss(tagger.batch([query]), max_weight=max_weight)
        return loss.item(), gradients(loss, tagger)
