"""A trained model: finds the entities of sentences, adapting to each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from torch import Tensor

from metacross.adaptation.fast import FastEngine, unsupported_reason
from metacross.adaptation.gradient_recorder import UnsupportedLayer
from metacross.adaptation.prediction import (
    Prediction,
    label_logits,
    plain_predictions,
    prediction_from,
)
from metacross.adaptation.retrieval import Neighbor, build_index
from metacross.adaptation.textbook import adapted, dropout
from metacross.errors import DataError, ModelError, SettingsError
from metacross.model.devices import seeded
from metacross.model.model_folder import Datastore, ModelParts, load_model, save_model
from metacross.model.tagger import Example
from metacross.settings import Settings, settings_with
from metacross.text.reading import unlabeled
from metacross.text.sentence import Sentence
from metacross.text.word_splitting import split_text

_ADJUSTABLE = (
    "adaptation.*",
    "fine_tuning.*",
    "retrieval.neighbors",
    "retrieval.skip_nearest",
    "retrieval.search",
    "run.gradient_cache_mb",
)

EngineName: TypeAlias = Literal["fast", "textbook"]
Progress: TypeAlias = Callable[[int], None]


class NerModel:
    """What ``metacross.train`` and ``metacross.load`` give."""

    def __init__(self, parts: ModelParts, *, engine: EngineName = "fast") -> None:
        self.parts = parts
        self.tagger = parts.tagger
        self.settings = parts.settings
        self.fallback_reason = (
            "it was asked for"
            if engine == "textbook"
            else unsupported_reason(parts.tagger, parts.settings)
        )
        """Why it adapts by the textbook loop; None where the fast engine does it."""
        self._index = (
            None
            if parts.datastore is None
            else build_index(parts.datastore.vectors, parts.settings.retrieval.search)
        )
        self._support: dict[int, Example] = {}
        self._engine = FastEngine(
            parts.tagger,
            parts.settings,
            memory_bytes=2**20 * parts.settings.run.gradient_cache_mb,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types it knows."""
        return self.tagger.tag_set.labels

    @property
    def recall(self) -> float | None:
        """Of the nearest source sentences, how many it finds; None: all, as the search is exact."""
        return None if self._index is None else self._index.recall

    @property
    def adapts(self) -> bool:
        """Whether it adapts unless told otherwise."""
        return self.parts.adapts

    def predict(
        self,
        text: str | Sequence[str] | Sentence,
        *,
        adapt: bool | None = None,
        language: str | None = None,
    ) -> Prediction:
        """Find the entities of a text, of words, or of a sentence.

        ``adapt`` None does what the model was made for: a meta-trained one adapts.
        """
        if isinstance(text, str):
            layout = split_text(text, language)
            if not layout.offsets:
                raise DataError(f"expected at least one word, found {text[:40]!r}")
            sentence = unlabeled(layout, language)
        elif isinstance(text, Sentence):
            sentence = text
        else:
            sentence = Sentence(tuple(text), None, language)
        return next(self.predict_all([sentence], adapt=adapt))

    def predict_all(
        self,
        sentences: Iterable[Sentence],
        *,
        adapt: bool | None = None,
        chunk: int = 512,
        progress: Progress = lambda _n_done: None,
    ) -> Iterator[Prediction]:
        """Find the entities of sentences as they come, in order, ``chunk`` of them at once.

        ``progress`` is told how many are done while a chunk is under way.
        """
        wished = self.adapts if adapt is None else adapt
        remaining = iter(sentences)
        n_before = 0
        while taken := list(islice(remaining, chunk)):

            def tell(n_done: int, n_before: int = n_before) -> None:
                progress(n_before + n_done)

            yield from self._adapted(taken, tell) if wished else self._plain(taken)
            n_before += len(taken)
            progress(n_before)

    def neighbors(
        self, sentences: Sequence[Sentence], *, k: int | None = None
    ) -> list[tuple[Neighbor, ...]]:
        """The source sentences that each sentence would learn from, best first."""
        retrieval = self.settings.retrieval
        k = k or retrieval.neighbors
        vectors = self._datastore.sentence_encoder.vectors(sentences)
        if self._index is None:
            raise ModelError("expected a model with source sentences, found one without")
        found = self._index.nearest(vectors, k=k + retrieval.skip_nearest)
        return [own[retrieval.skip_nearest :] for own in found]

    def source_sentence(self, neighbor: Neighbor) -> Sentence:
        """The sentence that a neighbor stands for."""
        return self._datastore.source[neighbor.position]

    def save(self, folder: str | Path) -> None:
        """Write the model folder."""
        save_model(self.parts, folder)

    @property
    def _datastore(self) -> Datastore:
        if self.parts.datastore is None:
            raise ModelError(
                "this model has no source sentences to adapt to, as it was fine-tuned; "
                "use it without adaptation"
            )
        return self.parts.datastore

    def _plain(self, sentences: Sequence[Sentence]) -> Iterator[Prediction]:
        with dropout(self.tagger, enabled=False):
            yield from plain_predictions(
                self.tagger, sentences, batch_pieces=self.settings.run.batch_pieces
            )

    def _adapted(self, sentences: Sequence[Sentence], progress: Progress) -> Iterator[Prediction]:
        """Adapt to each sentence and label it (Algorithm 1, lines 15 to 19)."""
        examples = self.tagger.examples(sentences)
        nearest = self.neighbors(sentences)
        supports = [
            {neighbor.position: self._support_example(neighbor.position) for neighbor in own}
            for own in nearest
        ]
        logits = self._adapted_logits(examples, supports, progress)
        for sentence, own_logits, own in zip(sentences, logits, nearest, strict=True):
            yield prediction_from(self.tagger, sentence, own_logits, own)

    def _adapted_logits(
        self,
        examples: Sequence[Example],
        supports: Sequence[Mapping[int, Example]],
        progress: Progress,
    ) -> Iterable[Tensor]:
        if self.fallback_reason is None:
            try:
                with dropout(self.tagger, enabled=False):
                    return self._engine.logits(examples, supports, progress=progress)
            except UnsupportedLayer:
                self.fallback_reason = "a layer of this encoder reads more than the sentences"
        found = []
        for example, support in zip(examples, supports, strict=True):
            found.append(self._textbook_logits(example, list(support.values())))
            progress(len(found))
        return found

    def _textbook_logits(self, example: Example, support: Sequence[Example]) -> Tensor:
        """Adapt, label, restore."""
        adaptation = self.settings.adaptation
        with (
            seeded(self.settings.run.seed),
            dropout(self.tagger, enabled=adaptation.dropout),
            adapted(
                self.tagger,
                support,
                steps=adaptation.steps,
                learning_rate=adaptation.learning_rate,
                max_weight=adaptation.max_weight,
                optimizer=self.settings.optimizer,
            ),
            dropout(self.tagger, enabled=False),
        ):
            (logits,) = label_logits(self.tagger, [example])
        return logits

    def _support_example(self, position: int) -> Example:
        if position not in self._support:
            (self._support[position],) = self.tagger.examples([self._datastore.source[position]])
        return self._support[position]


def load(
    folder: str | Path,
    *,
    device: str = "auto",
    engine: EngineName = "fast",
    settings: Iterable[str] = (),
) -> NerModel:
    """Open a model that was saved. The ``textbook`` engine gives the same results, slower.

    ``settings`` change how the model adapts or is fine-tuned: ``["adaptation.learning_rate=3e-5"]``.
    """
    parts = load_model(folder, device=device)
    changed = settings_with(parts.settings, settings)
    _check_still_free(parts.settings, changed)
    return NerModel(replace(parts, settings=changed), engine=engine)


def _check_still_free(before: Settings, after: Settings) -> None:
    """Refuse changes to what a model was trained with."""
    for section, values in before.model_dump().items():
        for key, value in values.items():
            free = f"{section}.*" in _ADJUSTABLE or f"{section}.{key}" in _ADJUSTABLE
            if not free and getattr(getattr(after, section), key) != value:
                raise SettingsError(
                    f"{section}.{key}: expected a setting that a trained model can still change "
                    f"({', '.join(_ADJUSTABLE)}); for others train anew"
                )
