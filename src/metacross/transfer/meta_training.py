"""The meta-step: learning to adapt (Algorithm 1, lines 4 to 10)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from metacross.model.devices import seeded
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.transfer.adam import Adam, rate_factor
from metacross.transfer.adaptation import adapted, dropping_out, gradients
from metacross.transfer.masking import EpochMasker
from metacross.transfer.sampling import Draw, Sampler
from metacross.transfer.tasks import Task
from metacross.transfer.training import Step, StepResult


def maml_step(
    tagger: Tagger,
    examples: Sequence[Example],
    tasks: Sequence[Task],
    settings: Settings,
    adam: Adam,
) -> Step:
    """First-order MAML: sums the query gradients of a batch of tasks, each at the weights adapted
    to its own support, and takes one step of the outer optimiser against the sum.
    """
    meta, seed = settings.meta, settings.run.seed
    sampler = Sampler(len(tasks), meta.tasks_per_step, seed)
    masker = EpochMasker(tagger, examples, settings)

    def step(number: int) -> StepResult:
        factor = rate_factor(settings.schedule, number, meta.steps)
        total: list[Tensor] | None = None
        losses = []
        with dropping_out(tagger, True):
            for draw in sampler.draws(number):
                task = tasks[draw.position]
                support = [masker.support(Draw(p, draw.epoch)) for p in task.support]
                query = masker.query(Draw(task.query, draw.epoch))
                with seeded(seed, number, task.query):
                    loss, gradient = task_gradient(
                        tagger, support, query, settings, inner_rate=meta.inner_rate * factor
                    )
                losses.append(loss)
                total = _added(total, gradient)
        if total is not None:
            adam.step(total, meta.outer_rate * factor)
        return StepResult(loss=sum(losses) / len(losses), n_items=len(losses))

    return step


def task_gradient(
    tagger: Tagger,
    support: Sequence[Example],
    query: Example,
    settings: Settings,
    *,
    inner_rate: float,
) -> tuple[float, tuple[Tensor, ...]]:
    """A task's loss and meta-gradient: that of the query's loss at the adapted weights (Eq. 12)."""
    max_weight = settings.loss.max_weight
    with adapted(
        tagger,
        support,
        steps=settings.meta.inner_steps,
        rate=inner_rate,
        max_weight=max_weight,
        optimiser=settings.optimiser,
    ):
        loss = tagger.loss(tagger.batch([query]), max_weight=max_weight)
        return loss.item(), gradients(loss, tagger)


def _added(total: list[Tensor] | None, gradient: Sequence[Tensor]) -> list[Tensor]:
    if total is None:
        return [own.clone() for own in gradient]
    for summed, own in zip(total, gradient, strict=True):
        summed.add_(own)
    return total
