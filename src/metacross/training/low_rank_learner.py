"""The meta-gradients of many tasks side by side, where inner steps are gradient descent.

The supports of all tasks go through the network together, and so do their queries; each task's
weights are the original ones with thin corrections (see :mod:`metacross.adaptation.low_rank`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from metacross.adaptation.gradient_recorder import (
    GradientRecorder,
    LayerTrace,
    traceable_layers,
    untraceable_weight,
)
from metacross.adaptation.low_rank import (
    LowRankLayers,
    LowRankSteps,
    LowRankWeights,
    support_gradients,
)
from metacross.model.batching import padding_groups
from metacross.model.devices import seeded
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.training.blocks import LossSum
from metacross.training.tasks import TaskExamples

_GROUP_PIECES = 1_024  # pieces of supports that go through the network together


def can_learn_side_by_side(tagger: Tagger, settings: Settings) -> bool:
    """Whether the learner supports the inner optimizer and the tagger."""
    return (
        settings.meta.inner_optimizer != "adam"
        and tagger.precision == "float32"
        and untraceable_weight(tagger) is None
    )


class LowRankLearner:
    """Computes the same meta-gradients as the textbook loop; see the module docstring.

    Dropout draws for a whole batch, so it differs from the textbook loop's as with another seed.
    """

    def __init__(self, tagger: Tagger, settings: Settings) -> None:
        self._tagger = tagger
        self._settings = settings
        self._recorder = GradientRecorder(tagger)
        self._layers = LowRankLayers(traceable_layers(tagger))
        self._steps = LowRankSteps(
            tagger.trainable, settings.optimizer, settings.meta.inner_optimizer
        )
        self._one_by_one: bool | None = None  # None: not known yet

    @torch.no_grad()
    def meta_gradient(
        self, tasks: Sequence[TaskExamples], *, learning_rate: float, seeds: tuple[int, ...]
    ) -> LossSum:
        """The sum of the tasks' losses and of their gradients."""
        total = {name: torch.zeros_like(weight) for name, weight in self._tagger.trainable.items()}
        loss = 0.0
        with self._recorder.recording(), self._layers.replaced():
            for group in self._groups(tasks):
                with seeded(*seeds, group[0].position):
                    weights = self._adapted(group, learning_rate)
                    for batch in self._query_batches(group):
                        loss += self._add_query_gradients(group, batch, weights, total)
        return LossSum(loss, list(total.values()))

    def _groups(self, tasks: Sequence[TaskExamples]) -> Iterator[list[TaskExamples]]:
        """Tasks with supports of similar length, few enough to fit in memory."""
        if self._one_by_one is None:
            trace = self._recorder.record(tasks[0].support, max_weight=0.0)
            self._one_by_one = bool(trace.shared)
        if self._one_by_one:
            yield from ([task] for task in tasks)
            return
        lengths = [max(example.n_pieces for example in task.support) for task in tasks]
        for positions in padding_groups(lengths):
            group: list[TaskExamples] = []
            n_pieces = 0
            for position in positions:
                n_new = lengths[position] * len(tasks[position].support)
                if group and n_pieces + n_new > _GROUP_PIECES:
                    yield group
                    group, n_pieces = [], 0
                group.append(tasks[position])
                n_pieces += n_new
            yield group

    def _adapted(self, group: Sequence[TaskExamples], learning_rate: float) -> LowRankWeights:
        """The weights of each task after the inner steps."""
        supports = [example for task in group for example in task.support]
        task_of_row = [
            number
            for number, task in enumerate(group)
            for example in task.support
            for _ in example.windows
        ]
        support_sizes = [len(task.support) for task in group]
        weights = self._steps.first(len(group))
        for _ in range(self._settings.meta.inner_steps):
            with self._layers.using(weights.of_rows(task_of_row)):
                trace = self._record(supports)
            gradients = support_gradients(trace, support_sizes)
            weights = self._steps.after(weights, gradients, learning_rate, keep=True)
        return weights

    def _query_batches(self, group: Sequence[TaskExamples]) -> list[list[int]]:
        return padding_groups([task.query.n_pieces for task in group])

    def _add_query_gradients(
        self,
        group: Sequence[TaskExamples],
        batch: Sequence[int],
        weights: LowRankWeights,
        total: dict[str, Tensor],
    ) -> float:
        """Add the gradients of some queries at the weights of their tasks; returns the losses."""
        queries = [group[number].query for number in batch]
        rows = [number for number in batch for _ in group[number].query.windows]
        with self._layers.using(weights.of_rows(rows)):
            trace = self._record(queries)
        for name in trace.matrix_names:
            inputs, deltas = trace.matrix(name)
            total[name].addmm_(deltas.T, inputs)
        for name, gradient in trace.vectors.items():
            total[name].add_(gradient.sum(dim=0))
        return float(trace.losses.sum())

    def _record(self, examples: Sequence[Example]) -> LayerTrace:
        return self._recorder.record(examples, max_weight=self._settings.loss.max_weight)
