"""Groups of test sentences with weights adapted by gradient descent, in low-rank form."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import torch
from torch import Tensor

from metacross.adaptation.gradient_cache import GradientCache
from metacross.adaptation.gradient_recorder import GradientRecorder, traceable_layers
from metacross.adaptation.low_rank import (
    LastResults,
    LowRankLayers,
    LowRankSteps,
    LowRankWeights,
    SupportGradients,
    support_gradients,
)
from metacross.adaptation.plain import label_logits
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings


class LowRankGroups:
    """Labels groups of test sentences; the products with the original weights are shared."""

    group_size = 16

    def __init__(self, tagger: Tagger, settings: Settings, gradient_cache: GradientCache) -> None:
        adaptation = settings.adaptation
        self._tagger = tagger
        self._adaptation = adaptation
        self._gradient_cache = gradient_cache
        self._recorder = GradientRecorder(tagger)
        self._layers = LowRankLayers(traceable_layers(tagger))
        self._steps = LowRankSteps(tagger.trainable, settings.optimizer, adaptation.optimizer)

    @contextlib.contextmanager
    def replaced_layers(self) -> Iterator[None]:
        """Inside the block groups can be labeled, by several threads too."""
        with contextlib.ExitStack() as stack:
            if self._adaptation.steps > 1:
                stack.enter_context(self._recorder.recording())
            stack.enter_context(self._layers.replaced())
            yield

    @torch.no_grad()
    def logits(
        self, examples: Sequence[Example], supports: Sequence[Mapping[int, Example]]
    ) -> list[Tensor]:
        """The logits of each sentence; its support is in the gradient cache."""
        task_of_row = [i for i, example in enumerate(examples) for _ in example.windows]
        with self._layers.using(self._adapted(supports).of_rows(task_of_row)):
            return label_logits(self._tagger, examples)

    def _adapted(self, supports: Sequence[Mapping[int, Example]]) -> LowRankWeights:
        """The weights adapted to each support."""
        learning_rate = self._adaptation.learning_rate
        first = self._recorded_gradients([[*support] for support in supports])
        weights = self._steps.first(len(supports))
        weights = self._steps.after(weights, first, learning_rate, keep=False)
        sentences = [example for support in supports for example in support.values()]
        task_of_row = [
            i for i, support in enumerate(supports) for e in support.values() for _ in e.windows
        ]
        for _ in range(self._adaptation.steps - 1):
            with self._layers.using(weights.of_rows(task_of_row)):
                trace = self._recorder.record(sentences, max_weight=self._adaptation.max_weight)
            gradients = support_gradients(trace, [len(support) for support in supports])
            weights = self._steps.after(weights, gradients, learning_rate, keep=True)
        return weights

    def _recorded_gradients(self, supports: Sequence[Sequence[int]]) -> SupportGradients:
        """The gradients at the original weights, from the cache."""
        cache = self._gradient_cache
        sizes = torch.tensor([len(support) for support in supports], device=self._tagger.device)
        matrices = _CachedMatrices(cache, supports)
        return SupportGradients(sizes, matrices, cache.vectors(supports), matrices.squared_norms)


class _CachedMatrices(Mapping[str, tuple[Tensor, Tensor]]):
    """Inputs and deltas of matrices, collected from the cache when they are asked for. The last
    inputs are kept, because the next matrix often has the same.
    """

    def __init__(self, cache: GradientCache, supports: Sequence[Sequence[int]]) -> None:
        self._cache = cache
        self._supports = supports
        self._shared = cache.shared(supports[0])
        slots = cache.slots_by_length(supports)
        self._n_pieces = [part.shape[1] for part in slots]
        self._slots = torch.cat(slots, dim=1)  # (supports, pieces)
        self._last: tuple[str, Tensor] | None = None
        self._grams = LastResults[list[Tensor]]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._cache.matrix_names)

    def __len__(self) -> int:
        return len(self._cache.matrix_names)

    def __contains__(self, name: object) -> bool:
        return name in self._cache.matrix_names  # without collecting it

    def __getitem__(self, name: str) -> tuple[Tensor, Tensor]:
        parts = []
        if self._cache.has_matrix(name):
            parts.append((self._inputs(name), self._cache.deltas(name, self._slots)))
        if name in self._shared:
            inputs, deltas = self._shared[name]
            parts.append((inputs[None], deltas[None]))
        if len(parts) == 1:
            return parts[0]
        return tuple(torch.cat(part, dim=1) for part in zip(*parts, strict=True))  # type: ignore[return-value]

    def _inputs(self, name: str) -> Tensor:
        source = self._cache.input_name(name)
        if self._last is None or self._last[0] != source:
            self._last = (source, self._cache.inputs(name, self._slots))
        return self._last[1]

    def squared_norms(self, name: str, inputs: Tensor, deltas: Tensor) -> Tensor:
        """The sentences' own norms are in the cache; only products of different sentences are
        computed. *Shape:* (supports,).
        """
        if name in self._shared:
            products = torch.bmm(inputs, inputs.mT) * torch.bmm(deltas, deltas.mT)
            return products.sum(dim=(1, 2))
        squares = self._own_squares[name]
        for products, of_deltas in zip(
            self._grams.of(inputs, self._products), self._products(deltas), strict=True
        ):
            squares = squares + 2 * (products * of_deltas).sum(dim=(1, 2))
        return squares

    @cached_property
    def _own_squares(self) -> dict[str, Tensor]:
        return self._cache.squared_norms(self._supports)

    def _products(self, rows: Tensor) -> list[Tensor]:
        """Products of the pieces of every two sentences.

        *Shape:* (supports, pieces, width), result each (supports, pieces, pieces).
        """
        sentences = torch.split(rows, self._n_pieces, dim=1)
        return [torch.bmm(a, b.mT) for a, b in itertools.combinations(sentences, 2)]
