"""A trained model: predicts entities, adapting to each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, overload

from metacross.adaptation.evaluation import Evaluation, evaluate
from metacross.adaptation.explanation import Explanation
from metacross.adaptation.plain import plain_predictions
from metacross.adaptation.prediction import Neighbor, Prediction, SentencePrediction
from metacross.adaptation.remembering import (
    ids_of,
    saved_with,
    saved_without,
    sentences_to_remember,
    with_remembered,
)
from metacross.adaptation.sentence_adapter import EngineName, Progress, SentenceAdapter
from metacross.adaptation.textbook import dropout
from metacross.errors import DataError, ModelError
from metacross.model.model_folder import ModelParts, save_model
from metacross.model.remembered import Remembered, joined
from metacross.text.language_codes import checked_language
from metacross.text.reading import read_corpus, sentence_layouts, unlabeled
from metacross.text.sentence import Corpus, Sentence
from metacross.text.word_splitting import split_text

if TYPE_CHECKING:
    from metacross.training.callbacks import Callback


class NerModel:
    """A model that finds named entities; made by :func:`metacross.train` or
    :func:`metacross.load`.

    A meta-trained model adapts to each sentence before labeling it: it retrieves the most similar
    source sentences and takes a gradient step on them. ``adapt=None`` in the methods below does
    what the model was trained for; True and False turn adaptation on and off.

    Use a model in one thread at a time: adaptation replaces parts of the network while it runs.
    """

    def __init__(
        self, parts: ModelParts, *, engine: EngineName = "fast", location: str | None = None
    ) -> None:
        self.parts = parts
        self.location = location
        """Where it was loaded from, ``hub:OWNER/NAME@COMMIT`` for a model of the hub; None if it
        was trained in this process.
        """
        self.tagger = parts.tagger
        self.settings = parts.settings
        self._engine: EngineName = engine

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types it predicts, such as ``("LOC", "ORG", "PER")``."""
        return self.tagger.tag_set.labels

    @property
    def adapts(self) -> bool:
        """Whether it adapts to sentences by default."""
        return self.parts.adapts

    @property
    def fallback_reason(self) -> str | None:
        """Why the textbook loop adapts instead of the fast engine; None if the engine does."""
        return self._adapter.fallback_reason

    @property
    def search_recall(self) -> float | None:
        """Fraction of the nearest source sentences that approximate search finds; None if the
        search is exact.
        """
        return self._adapter.search_recall

    @property
    def gradient_cache_bytes(self) -> int:
        """Memory that the recorded gradients of source sentences take, in bytes."""
        return self._adapter.gradient_cache_bytes if self.parts.datastore is not None else 0

    def clear_gradient_cache(self) -> None:
        """Forget the recorded gradients of source sentences.

        Recordings are reused, and their last bits depend on which sentences were recorded
        together. After this call a prediction has the same bits as that of a model which was just
        loaded.
        """
        if "_adapter" in self.__dict__:
            self._adapter.clear_gradient_cache()

    @overload
    def predict(
        self, text: str, *, adapt: bool | None = None, language: str | None = None
    ) -> Prediction: ...

    @overload
    def predict(
        self,
        text: list[str] | tuple[str, ...],
        *,
        adapt: bool | None = None,
        language: str | None = None,
    ) -> list[Prediction]: ...

    def predict(
        self,
        text: str | list[str] | tuple[str, ...],
        *,
        adapt: bool | None = None,
        language: str | None = None,
    ) -> Prediction | list[Prediction]:
        """Find the entities of a text, or of each text in a list.

        A text can be a document: it is split into sentences, and the model adapts to each of them.
        Entities have character offsets in the document. ``language`` is a code such as ``"fr"``;
        it helps to split the text into sentences and words.

            prediction = model.predict("Angela Merkel besuchte Wolfsburg.", language="de")
            for entity in prediction.entities:
                print(entity.text, entity.label, entity.start, entity.end, entity.score)
        """
        texts = [text] if isinstance(text, str) else list(text)
        for item in texts:
            if not isinstance(item, str):
                raise DataError(
                    f"expected a text or a list of texts, found {type(item).__name__}; "
                    "use predict_words for lists of words and predict_stream for sentences"
                )
        predictions = self._predicted_texts(texts, adapt, checked_language(language))
        return predictions[0] if isinstance(text, str) else predictions

    def _predicted_texts(
        self, texts: Sequence[str], adapt: bool | None, language: str | None
    ) -> list[Prediction]:
        """Predict the sentences of all texts together, then collect them by text."""
        layouts_by_text = [list(sentence_layouts(text, language)) for text in texts]
        predictions = self.predict_stream(
            (unlabeled(layout, language) for layouts in layouts_by_text for _, layout in layouts),
            adapt=adapt,
        )
        return [
            Prediction(
                text,
                sentences=tuple(islice(predictions, len(layouts))),
                starts=tuple(start for start, _ in layouts),
            )
            for text, layouts in zip(texts, layouts_by_text, strict=True)
        ]

    def predict_words(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        adapt: bool | None = None,
        language: str | None = None,
    ) -> list[SentencePrediction]:
        """Find the entities of sentences that are already split into words.

        predictions = model.predict_words([["Angela", "Merkel", "besuchte", "Wolfsburg", "."]])
        """
        language = checked_language(language)
        return list(
            self.predict_stream(
                (_sentence_of_words(words, language) for words in sentences), adapt=adapt
            )
        )

    def predict_stream(
        self,
        sentences: Iterable[Sentence | str | Sequence[str]],
        *,
        adapt: bool | None = None,
        chunk_size: int = 1_024,
        progress: Progress = lambda _n_done: None,
    ) -> Iterator[SentencePrediction]:
        """Find the entities of any number of sentences, in order and in constant memory.

        An item is a :class:`Sentence`, the text of a sentence, or a list of words. ``chunk_size``
        sentences are read and labeled together; ``progress`` is called with the number done.
        """
        adapts = self.adapts if adapt is None else adapt
        remaining = (_as_sentence(item, number) for number, item in enumerate(sentences, start=1))
        n_before = 0
        while chunk := list(islice(remaining, chunk_size)):

            def report(n_done: int, n_before: int = n_before) -> None:
                progress(n_before + n_done)

            predictions = self._adapter.predictions(chunk, report) if adapts else self._plain(chunk)
            yield from predictions
            n_before += len(chunk)
            progress(n_before)

    def neighbors(
        self, sentences: Sequence[Sentence], *, k: int | None = None
    ) -> list[tuple[Neighbor, ...]]:
        """The ``k`` source sentences that each sentence would learn from, most similar first.

        ``k=None`` takes the number of neighbors that the model adapts to.
        """
        return self._adapter.neighbors(sentences, k=k)

    def explain(
        self, sentence: Sentence | str | Sequence[str], *, language: str | None = None
    ) -> Explanation:
        """Label a sentence with none, some and all of its neighbors, to see what each changes.

        The text of a sentence is not split into sentences.

            explanation = model.explain("El Banco de España sube los tipos .", language="es")
            for counterfactual in explanation.counterfactuals:
                print(sorted(counterfactual.used), counterfactual.prediction.entities)
        """
        return self._adapter.explanation(_as_sentence(sentence, 1, language))

    def evaluate(
        self,
        corpus: Corpus | str | Path,
        *,
        adapt: bool | None = None,
        language: str | None = None,
        progress: Progress = lambda _n_done: None,
    ) -> Evaluation:
        """Score the model on a labeled corpus or file, without adaptation and with it.

        See :func:`metacross.evaluate` for ``adapt``.
        """
        if not isinstance(corpus, Corpus):
            corpus = read_corpus(corpus, language=language)
        return evaluate(self, corpus, adapt=adapt, progress=progress)

    def fine_tune(
        self,
        target: Corpus | str | Path,
        *,
        fraction: float | None = None,
        n_sentences: int | None = None,
        seed: int = 0,
        output: str | Path | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> NerModel:
        """A new model, trained further on labeled text of the target language.

        See :func:`metacross.fine_tune`. This model is unchanged.
        """
        from metacross.training.fine_tuning import fine_tune

        return fine_tune(
            self,
            target,
            fraction=fraction,
            n_sentences=n_sentences,
            seed=seed,
            output=output,
            callbacks=callbacks,
        )

    @property
    def remembered(self) -> tuple[Remembered, ...]:
        """The sentences that it remembers besides its source sentences."""
        return () if self.parts.datastore is None else self.parts.datastore.remembered

    def remember(
        self, sentences: Corpus | str | Path | Iterable[Sentence], *, save: bool = False
    ) -> tuple[Remembered, ...]:
        """Remember labeled sentences: the next similar sentence learns from them, without training.

        Give corrected sentences of the target language. A sentence with the same words as one that
        is remembered replaces it. ``save=True`` also keeps them in the folder that the model was
        loaded from: all of them or none, also if the process is killed.

            model.remember("corrected.conll", save=True)
        """
        new = sentences_to_remember(self.parts, sentences)
        if save:
            saved_with(self.location, self.parts, new)
        self._set_remembered(joined(self.remembered, new))
        return tuple(new)

    def forget(
        self, sentences: Iterable[str | Sentence], *, save: bool = False
    ) -> tuple[Remembered, ...]:
        """Forget remembered sentences, given by their ids or as sentences; gives those forgotten.

        ``save=True`` also forgets them in the folder that the model was loaded from. Weights are
        not affected: sentences that a model was trained on stay in them.
        """
        ids = frozenset(ids_of(sentences))
        if save:
            saved_without(self.location, ids)
        forgotten = tuple(r for r in self.remembered if r.id in ids)
        if forgotten:
            self._set_remembered([r for r in self.remembered if r.id not in ids])
        return forgotten

    def _set_remembered(self, remembered: Sequence[Remembered]) -> None:
        self.parts = with_remembered(self.parts, remembered)
        if "_adapter" in self.__dict__ and self.parts.datastore is not None:
            self._adapter.change_datastore(self.parts.datastore)

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder that :func:`metacross.load` and ``transformers`` read."""
        save_model(self.parts, folder)

    @cached_property
    def _adapter(self) -> SentenceAdapter:
        if self.parts.datastore is None:
            raise ModelError(
                "the model has no source sentences to adapt to: it is fine-tuned, or was shared "
                "without them; use it without adaptation (adapt=False, --no-adapt)"
            )
        return SentenceAdapter(
            self.tagger, self.settings, self.parts.datastore, engine=self._engine
        )

    def _plain(self, sentences: Sequence[Sentence]) -> Iterator[SentencePrediction]:
        with dropout(self.tagger, enabled=False):
            yield from plain_predictions(
                self.tagger,
                sentences,
                self.tagger.inputs(sentences),
                batch_pieces=self.settings.run.batch_pieces,
                decoding=self.settings.prediction.decoding,
            )


def _as_sentence(
    item: Sentence | str | Sequence[str], number: int, language: str | None = None
) -> Sentence:
    if isinstance(item, Sentence):
        return item
    if not isinstance(item, str):
        return _sentence_of_words(item, language)
    layout = split_text(item, language)
    if not layout.offsets:
        raise DataError(f"sentence {number}: expected at least one word, found {item[:40]!r}")
    return unlabeled(layout, language)


def _sentence_of_words(words: Sequence[str], language: str | None) -> Sentence:
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise DataError(
            f"expected a list of words, found {words!r}"[:200] + "; use predict for texts"
        )
    return Sentence(tuple(words), None, language)
