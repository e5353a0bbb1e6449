"""How long a task of meta-training takes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks import released
from benchmarks.measuring import in_turns, summary
from benchmarks.sizes import work
from metacross.training.inner_steps import FastLearner
from metacross.training.meta_training import Learner, TextbookLearner
from metacross.training.tasks import Task


def measure(size: str, *, repeats: int, n_tasks: int) -> dict[str, Any]:
    """Seconds for a task in three ways, in turns, and how far the gradients are apart."""
    own = work(size)
    learning_rate, max_weight = own.settings.meta.inner_learning_rate, own.settings.loss.max_weight

    def tasks(repeat: int) -> list[Task]:
        start = repeat * n_tasks
        return [own.tasks[i % len(own.tasks)] for i in range(start, start + n_tasks)]

    def by_released(repeat: int) -> int:
        total: dict[str, Tensor] = {}
        for task in tasks(repeat):
            released.add_meta_gradient(
                own.tagger,
                [own.source[p] for p in task.support],
                own.source[task.query],
                total,
                steps=own.settings.meta.inner_steps,
                learning_rate=learning_rate,
                max_weight=max_weight,
            )
        return n_tasks

    def learn(learner: Learner, repeat: int) -> int:
        with learner.block():
            for task in tasks(repeat):
                support = [own.source[p] for p in task.support]
                learner.learn(support, own.source[task.query], learning_rate=learning_rate)
        return n_tasks

    fast, textbook = (
        FastLearner(own.tagger, own.settings),
        TextbookLearner(own.tagger, own.settings),
    )
    ways = {
        "released": by_released,
        "textbook": lambda repeat: learn(textbook, repeat),
        "ours": lambda repeat: learn(fast, repeat),
    }
    found = summary(in_turns(ways, repeats=repeats), "ours")
    learn(fast, 0)
    ours = [total.clone() for total in fast.total]
    learn(textbook, 0)
    theirs = list(textbook.total)
    return {
        "ways": found,
        "tasks_in_each_repeat": n_tasks,
        "inner_steps": own.settings.meta.inner_steps,
        "largest_difference_of_gradients": _difference(ours, theirs),
        "largest_gradient": max(float(other.abs().max()) for other in theirs),
    }


@torch.no_grad()
def _difference(ours: list[Tensor], theirs: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True))
