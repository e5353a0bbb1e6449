"""Adapts a tagger to each sentence and labels it (Algorithm 1, lines 15 to 19)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from metacross.adaptation.adapted_part import adapting
from metacross.adaptation.explanation import Counterfactual, Explanation, explained_subsets
from metacross.adaptation.fast import FastEngine, unsupported_reason
from metacross.adaptation.gradient_recorder import UnsupportedLayer
from metacross.adaptation.plain import label_logits
from metacross.adaptation.prediction import (
    Neighbor,
    SentencePrediction,
    prediction_from_logits,
)
from metacross.adaptation.recent_vectors import RecentVectors
from metacross.adaptation.retrieval import (
    Index,
    JoinedIndex,
    SentenceIndex,
    SplitIndex,
    build_index,
    searches_exactly,
)
from metacross.adaptation.textbook import adapted, dropout
from metacross.model.datastore import Datastore
from metacross.model.devices import seeded
from metacross.model.frozen_states import FrozenStates
from metacross.model.sentence_encoder import Vectors
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings
from metacross.text.sentence import Sentence

EngineName: TypeAlias = Literal["fast", "textbook"]
Progress: TypeAlias = Callable[[int], None]
_SUPPORT_EXAMPLES = 20_000  # tokenized source sentences that are kept


class SentenceAdapter:
    """Retrieves the neighbors of sentences, and labels each with weights adapted to them.

    Index and engine are built when they are first needed.
    """

    def __init__(
        self, tagger: Tagger, settings: Settings, datastore: Datastore, *, engine: EngineName
    ) -> None:
        self._tagger = adapting(tagger, settings.adaptation)
        self._settings = settings
        self._datastore = datastore
        self.fallback_reason = (
            "it was requested"
            if engine == "textbook"
            else unsupported_reason(self._tagger, settings)
        )
        """Why the textbook loop adapts instead of the fast engine; None if the engine does."""
        self._first_fallback_reason = self.fallback_reason
        self._support_examples: dict[int, Example] = {}
        self._recent_vectors = RecentVectors()

    def change_datastore(self, datastore: Datastore) -> None:
        """Go on with other remembered sentences. What was computed for a sentence is kept while
        its position is the same.
        """
        before, self._datastore = self._datastore.remembered, datastore
        self.__dict__.pop("_index", None)
        if datastore.remembered[: len(before)] != before:
            self._support_examples.clear()
            self.__dict__.pop("_engine", None)

    def clear_gradient_cache(self) -> None:
        """Label the next sentences as if they were the first."""
        self.fallback_reason = self._first_fallback_reason
        self._recent_vectors = RecentVectors()
        if "_engine" in self.__dict__:
            self._engine.gradient_cache.clear()

    @property
    def search_recall(self) -> float | None:
        """Fraction of the nearest source sentences that the search finds; None if it is exact."""
        return self._index.recall

    def neighbors(
        self, sentences: Sequence[Sentence], *, k: int | None
    ) -> list[tuple[Neighbor, ...]]:
        """The ``k`` nearest source sentences of each sentence; None: as many as it adapts to."""
        return self._nearest(self._vectors(sentences), k)

    def predictions(
        self, sentences: Sequence[Sentence], progress: Progress
    ) -> Iterator[SentencePrediction]:
        """Adapt to each sentence and label it; ``progress`` is called with the number done."""
        examples = self._tagger.inputs(sentences)
        frozen_states = self._new_frozen_states()
        neighbors = self._nearest(self._vectors(sentences, examples, frozen_states), None)
        supports = [
            {neighbor.position: self._support_example(neighbor) for neighbor in nearest}
            for nearest in neighbors
        ]
        logits = self._adapted_logits(examples, supports, progress, frozen_states)
        for sentence, example, sentence_logits, nearest in zip(
            sentences, examples, logits, neighbors, strict=True
        ):
            yield prediction_from_logits(
                sentence,
                sentence_logits,
                self._tagger.tag_set,
                nearest,
                groups=example.groups,
                decoding=self._settings.prediction.decoding,
            )

    def explanation(self, sentence: Sentence) -> Explanation:
        """Label a sentence with none, some and all of its neighbors."""
        (neighbors,) = self.neighbors([sentence], k=None)
        used_neighbors = explained_subsets(len(neighbors))
        (example,) = self._tagger.inputs([sentence])
        supports = [
            {neighbors[i].position: self._support_example(neighbors[i]) for i in sorted(used)}
            for used in used_neighbors[1:]
        ]
        with dropout(self._tagger, enabled=False):
            plain_logits = label_logits(self._tagger, [example])
        adapted_logits = self._adapted_logits([example] * len(supports), supports, lambda _n: None)
        counterfactuals = tuple(
            Counterfactual(
                used,
                prediction_from_logits(
                    sentence,
                    logits,
                    self._tagger.tag_set,
                    [neighbors[i] for i in sorted(used)],
                    groups=example.groups,
                    decoding=self._settings.prediction.decoding,
                ),
            )
            for used, logits in zip(used_neighbors, [*plain_logits, *adapted_logits], strict=True)
        )
        return Explanation(sentence, neighbors, counterfactuals)

    @property
    def gradient_cache_bytes(self) -> int:
        """Memory of the recorded gradients in bytes; 0 until the fast engine is used."""
        engine = self.__dict__.get("_engine")
        return 0 if engine is None else engine.gradient_cache.n_bytes

    @property
    def n_recorded(self) -> int:
        """Number of source sentences whose gradients were recorded, again where evicted."""
        engine = self.__dict__.get("_engine")
        return 0 if engine is None else engine.gradient_cache.n_recorded

    @cached_property
    def _index(self) -> Index:
        datastore, retrieval = self._datastore, self._settings.retrieval
        if retrieval.split_languages:
            return SplitIndex(datastore.all_vectors, _positions_by_language(datastore))
        if searches_exactly(len(datastore.all_vectors), retrieval):
            return SentenceIndex(datastore.all_vectors)
        if not datastore.remembered:
            return self._source_index
        remembered = SentenceIndex(datastore.remembered_vectors)
        return JoinedIndex(self._source_index, len(datastore.vectors), remembered)

    @cached_property
    def _source_index(self) -> Index:
        """Kept when other sentences are remembered: faiss takes minutes to build it."""
        return build_index(self._datastore.vectors, self._settings.retrieval)

    @cached_property
    def _engine(self) -> FastEngine:
        memory_bytes = 2**20 * self._settings.run.gradient_cache_mb
        return FastEngine(self._tagger, self._settings, memory_bytes=memory_bytes)

    def _new_frozen_states(self) -> FrozenStates | None:
        """Where the outputs of frozen layers go, if vectors and logits both need them."""
        n_layers = self._tagger.n_frozen_layers
        if not n_layers or self.fallback_reason or not self._datastore.uses_tagger_tokenizer:
            return None
        return FrozenStates(n_layers)

    def _vectors(
        self,
        sentences: Sequence[Sentence],
        examples: Sequence[Example] | None = None,
        frozen_states: FrozenStates | None = None,
    ) -> Vectors:
        """The vectors of sentences. ``examples`` are the sentences as the tagger reads them; None:
        they are not tokenized yet. *Shape:* (sentences, width).
        """
        encoder = self._datastore.sentence_encoder

        def computed(positions: Sequence[int]) -> Vectors:
            if examples is not None and self._datastore.uses_tagger_tokenizer:
                windows = [examples[i].windows for i in positions]
                return encoder.vectors_of_windows(windows, frozen_states=frozen_states)
            return encoder.vectors([sentences[i] for i in positions])

        return self._recent_vectors.of(sentences, computed)

    def _nearest(self, vectors: Vectors, k: int | None) -> list[tuple[Neighbor, ...]]:
        retrieval, datastore = self._settings.retrieval, self._datastore
        k = k or retrieval.neighbors
        return [
            tuple(
                Neighbor(match.position, match.similarity, *datastore.sentence_at(match.position))
                for match in matches[retrieval.skip_nearest :]
            )
            for matches in self._index.nearest(vectors, k=k + retrieval.skip_nearest)
        ]

    def _adapted_logits(
        self,
        examples: Sequence[Example],
        supports: Sequence[Mapping[int, Example]],
        progress: Progress,
        frozen_states: FrozenStates | None = None,
    ) -> Iterable[Tensor]:
        if self.fallback_reason is None:
            try:
                with (
                    dropout(self._tagger, enabled=False),
                    self._tagger.frozen_states(frozen_states) if frozen_states else nullcontext(),
                ):
                    return self._engine.logits(examples, supports, progress=progress)
            except UnsupportedLayer:
                self.fallback_reason = "a layer of this encoder reads more than the sentences"
        logits = []
        for example, support in zip(examples, supports, strict=True):
            logits.append(self._textbook_logits(example, list(support.values())))
            progress(len(logits))
        return logits

    def _textbook_logits(self, example: Example, support: Sequence[Example]) -> Tensor:
        """Adapt, label, restore."""
        adaptation = self._settings.adaptation
        with (
            seeded(self._settings.run.seed),
            dropout(self._tagger, enabled=adaptation.dropout),
            adapted(
                self._tagger,
                support,
                steps=adaptation.steps,
                learning_rate=adaptation.learning_rate,
                max_weight=adaptation.max_weight,
                optimizer=self._settings.optimizer,
                optimizer_name=adaptation.optimizer,
            ),
            dropout(self._tagger, enabled=False),
        ):
            (logits,) = label_logits(self._tagger, [example])
        return logits

    def _support_example(self, neighbor: Neighbor) -> Example:
        if neighbor.position not in self._support_examples:
            (example,) = self._tagger.examples([neighbor.sentence])
            if len(self._support_examples) >= _SUPPORT_EXAMPLES:
                self._support_examples.pop(next(iter(self._support_examples)))
            self._support_examples[neighbor.position] = example
        return self._support_examples[neighbor.position]


def _positions_by_language(datastore: Datastore) -> list[NDArray[np.int64]]:
    """The positions of source and remembered sentences by their language."""
    positions: dict[str | None, list[int]] = {}
    for position in range(len(datastore.all_vectors)):
        sentence, _ = datastore.sentence_at(position)
        positions.setdefault(sentence.language, []).append(position)
    return [np.array(of_language, dtype=np.int64) for of_language in positions.values()]
