"""Fast and exact adaptation: no weight is copied, changed or restored.

All sentences adapt from the same weights, so the contribution of a source sentence to a gradient
is recorded once and serves every sentence that retrieves it: the gradient of a support is the mean
over its sentences. Groups of test sentences go through the network together, each with its own
adapted weights; how these are made depends on the optimizer.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from torch import Tensor

from metacross.adaptation.adam_weights import AdamGroups
from metacross.adaptation.gradient_cache import GradientCache
from metacross.adaptation.gradient_files import GradientFiles
from metacross.adaptation.gradient_recorder import untraceable_weight
from metacross.adaptation.low_rank_groups import LowRankGroups
from metacross.adaptation.threads import worker_threads
from metacross.adaptation.visiting_order import Stage, stages
from metacross.model.encoder import weights_digest
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings


def unsupported_reason(tagger: Tagger, settings: Settings) -> str | None:
    """Why a tagger needs the textbook loop; None if the engine gives the same results."""
    if settings.adaptation.steps > 1 and settings.adaptation.optimizer == "adam":
        return "adaptation.steps is more than 1 and adaptation.optimizer is adam"
    if settings.adaptation.dropout:
        return "adaptation.dropout is on"
    if tagger.precision != "float32":
        return "run.precision is not float32"
    name = untraceable_weight(tagger)
    if name is not None:
        return f"the engine does not support the weight {name}"
    return None


class AdaptedGroups(Protocol):
    """Labels groups of test sentences, each sentence with its own adapted weights."""

    group_size: int
    """Test sentences that go through the network together."""

    def replaced_layers(self) -> AbstractContextManager[None]:
        """Inside the block groups can be labeled, by several threads too."""

    def logits(
        self, examples: Sequence[Example], supports: Sequence[Mapping[int, Example]]
    ) -> list[Tensor]:
        """The logits of each sentence; its support is in the gradient cache."""


class FastEngine:
    """Labels sentences with the same logits as the textbook loop; see the module docstring."""

    def __init__(self, tagger: Tagger, settings: Settings, *, memory_bytes: int) -> None:
        self._tagger = tagger
        self.gradient_cache = GradientCache(
            tagger,
            max_weight=settings.adaptation.max_weight,
            memory_bytes=memory_bytes,
            with_norms=settings.adaptation.optimizer != "adam",
            files=_gradient_files(tagger, settings),
        )
        groups = AdamGroups if settings.adaptation.optimizer == "adam" else LowRankGroups
        self._groups: AdaptedGroups = groups(tagger, settings, self.gradient_cache)

    def logits(
        self,
        examples: Sequence[Example],
        supports: Sequence[Mapping[int, Example]],
        *,
        progress: Callable[[int], None] = lambda _n_done: None,
    ) -> list[Tensor]:
        """The logits of each sentence after adaptation.

        ``supports`` maps positions of source sentences to examples, for each sentence.
        *Shape:* each (words, tags).
        """
        logits: dict[int, Tensor] = {}

        def adapted(group: Sequence[int]) -> dict[int, Tensor]:
            group_logits = self._groups.logits(
                [examples[i] for i in group], [supports[i] for i in group]
            )
            return dict(zip(group, group_logits, strict=True))

        with worker_threads(self._tagger.device, len(examples)) as workers:
            for stage in self._stages(supports):
                self.gradient_cache.hold(stage.sources, workers)
                with self._groups.replaced_layers():
                    alone = self.gradient_cache.has_shared(next(iter(stage.sources.values())))
                    size = 1 if alone else self._groups.group_size
                    groups = _groups(stage.tests, examples, supports, workers.n, size)
                    for group_logits in workers.each(adapted, groups):
                        logits |= group_logits
                        progress(len(logits))
        return [logits[i] for i in range(len(examples))]

    def _stages(self, supports: Sequence[Mapping[int, Example]]) -> Iterator[Stage]:
        cache = self.gradient_cache
        max_pieces = cache.n_room(next(iter(supports[0].values()))) if supports else 0
        return stages(supports, max_pieces=max_pieces, loaded=cache.positions)


def _gradient_files(tagger: Tagger, settings: Settings) -> GradientFiles | None:
    if settings.run.gradient_folder is None:
        return None
    adaptation = settings.adaptation
    parts = [
        weights_digest(tagger.network),
        " ".join(tagger.trainable),
        f"{adaptation.max_weight} {adaptation.optimizer != 'adam'}",
    ]
    max_bytes = 2**20 * settings.run.gradient_folder_mb
    return GradientFiles(Path(settings.run.gradient_folder), "\n".join(parts), max_bytes=max_bytes)


def _groups(
    tests: Sequence[int],
    examples: Sequence[Example],
    supports: Sequence[Mapping[int, Example]],
    n_workers: int,
    group_size: int,
) -> list[Sequence[int]]:
    """Groups of test sentences of similar length with supports of similar length. All groups cost
    about the same, and every worker gets the same number of them, so that none waits for others.
    """

    def n_support(i: int) -> int:
        return sum(example.n_pieces for example in supports[i].values())

    def longest_support(i: int) -> tuple[int, int]:
        return max(example.n_pieces for example in supports[i].values()), n_support(i)

    def cost(i: int) -> int:
        return n_support(i) + examples[i].n_pieces

    if group_size == 1:
        return [[i] for i in sorted(tests, key=cost, reverse=True)]
    n_groups = n_workers * math.ceil(len(tests) / group_size / n_workers)
    n_bands = max(1, round(math.sqrt(n_groups)))
    groups = []
    for band in _evenly(sorted(tests, key=longest_support), n_bands, cost):
        by_length = sorted(band, key=lambda i: examples[i].n_pieces)
        groups += _evenly(by_length, round(n_groups / n_bands), cost)
    return sorted(groups, key=lambda group: sum(map(cost, group)), reverse=True)


def _evenly(items: Sequence[int], n: int, cost: Callable[[int], int]) -> list[Sequence[int]]:
    """Split into ``n`` parts of about equal cost; empty parts are left out."""
    sums = [0, *itertools.accumulate(map(cost, items))]
    ends = [bisect.bisect_left(sums, sums[-1] * i / n) for i in range(n + 1)]
    return [items[i:j] for i, j in pairwise(ends) if i < j]
