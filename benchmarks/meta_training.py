"""Measures the time of one task of meta-training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks import released
from benchmarks.measuring import summary, time_in_turns
from benchmarks.sizes import workload
from metacross.training.inner_steps import FastLearner
from metacross.training.meta_training import Learner, TextbookLearner
from metacross.training.tasks import Task


def measure(size: str, *, repeats: int, n_tasks: int) -> dict[str, Any]:
    """Time per task of three implementations, and how much their gradients differ."""
    work = workload(size)
    learning_rate = work.settings.meta.inner_learning_rate
    max_weight = work.settings.loss.max_weight

    def tasks(repeat: int) -> list[Task]:
        start = repeat * n_tasks
        return [work.tasks[i % len(work.tasks)] for i in range(start, start + n_tasks)]

    def with_released(repeat: int) -> int:
        total: dict[str, Tensor] = {}
        for task in tasks(repeat):
            released.add_meta_gradient(
                work.tagger,
                [work.source[p] for p in task.support],
                work.source[task.query],
                total,
                steps=work.settings.meta.inner_steps,
                learning_rate=learning_rate,
                max_weight=max_weight,
            )
        return n_tasks

    def learn(learner: Learner, repeat: int) -> int:
        with learner.block():
            for task in tasks(repeat):
                support = [work.source[p] for p in task.support]
                learner.learn(support, work.source[task.query], learning_rate=learning_rate)
        return n_tasks

    fast, textbook = (
        FastLearner(work.tagger, work.settings),
        TextbookLearner(work.tagger, work.settings),
    )
    variants = {
        "released": with_released,
        "textbook": lambda repeat: learn(textbook, repeat),
        "fast": lambda repeat: learn(fast, repeat),
    }
    summaries = summary(time_in_turns(variants, repeats=repeats), "fast")
    learn(fast, 0)
    fast_gradients = [gradient.clone() for gradient in fast.total]
    learn(textbook, 0)
    textbook_gradients = list(textbook.total)
    return {
        "variants": summaries,
        "tasks_per_repeat": n_tasks,
        "inner_steps": work.settings.meta.inner_steps,
        "max_gradient_difference": _max_difference(fast_gradients, textbook_gradients),
        "max_gradient": max(float(gradient.abs().max()) for gradient in textbook_gradients),
    }


@torch.no_grad()
def _max_difference(gradients: list[Tensor], others: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(gradients, others, strict=True))
