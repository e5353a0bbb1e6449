"""Measures the time of one task of meta-training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks import released
from benchmarks.measuring import summary, time_in_turns
from benchmarks.sizes import workload
from metacross.settings import settings_with
from metacross.training.blocks import LossSum
from metacross.training.low_rank_learner import LowRankLearner
from metacross.training.meta_training import Learner, TextbookLearner
from metacross.training.tasks import TaskExamples


def measure(size: str, *, repeats: int, n_tasks: int) -> dict[str, Any]:
    """Time per task with inner steps of Adam and with normalized ones, which are also computed
    side by side; and how much the gradients of the latter differ.
    """
    work = workload(size)
    max_weight, meta = work.settings.loss.max_weight, work.settings.meta
    normalized = settings_with(work.settings, {"meta": {"inner_optimizer": "normalized"}})

    def tasks(repeat: int) -> list[TaskExamples]:
        start = repeat * n_tasks
        drawn = [work.tasks[i % len(work.tasks)] for i in range(start, start + n_tasks)]
        return [
            TaskExamples(
                task.query, tuple(work.source[p] for p in task.support), work.source[task.query]
            )
            for task in drawn
        ]

    def with_released(repeat: int) -> int:
        total: dict[str, Tensor] = {}
        for task in tasks(repeat):
            released.add_meta_gradient(
                work.tagger,
                list(task.support),
                task.query,
                total,
                steps=meta.inner_steps,
                learning_rate=meta.inner_learning_rate,
                max_weight=max_weight,
            )
        return n_tasks

    def learned(learner: Learner, repeat: int) -> LossSum:
        return learner.meta_gradient(
            tasks(repeat), learning_rate=meta.inner_learning_rate, seeds=(repeat,)
        )

    def learn(learner: Learner, repeat: int) -> int:
        learned(learner, repeat)
        return n_tasks

    adam = TextbookLearner(work.tagger, work.settings)
    textbook = TextbookLearner(work.tagger, normalized)
    side_by_side = LowRankLearner(work.tagger, normalized)
    variants = {
        "released": with_released,
        "textbook": lambda repeat: learn(adam, repeat),
        "normalized textbook": lambda repeat: learn(textbook, repeat),
        "fast": lambda repeat: learn(side_by_side, repeat),
    }
    expected = learned(textbook, 0).gradients
    return {
        "variants": summary(time_in_turns(variants, repeats=repeats), "fast"),
        "tasks_per_repeat": n_tasks,
        "inner_steps": meta.inner_steps,
        "max_gradient_difference": _max_difference(learned(side_by_side, 0).gradients, expected),
        "max_gradient": max(float(gradient.abs().max()) for gradient in expected),
    }


@torch.no_grad()
def _max_difference(gradients: Sequence[Tensor], others: Sequence[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(gradients, others, strict=True))
