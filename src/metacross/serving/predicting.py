"""Answers ``/v1/predict`` and ``/v1/why``: checks a request against the limits, labels, answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from metacross.adaptation.explanation import Explanation, explained_subsets
from metacross.adaptation.ner_model import NerModel
from metacross.serving.answers import result_json, why_json
from metacross.serving.batching_queue import Lane
from metacross.serving.documents import (
    Document,
    document_of_sentence,
    document_of_text,
    document_of_words,
)
from metacross.serving.labeling import LabelingDesk
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions
from metacross.serving.problems import RequestProblem, too_large
from metacross.serving.schemas import PredictRequest, StreamQuery, WhyRequest
from metacross.serving.served_model import ServedModel


class Predictor:
    """Answers requests of the JSON API with the bytes of their JSON."""

    def __init__(self, desk: LabelingDesk, options: ServerOptions, served: ServedModel) -> None:
        self._desk = desk
        self._options = options
        self._served = served

    async def predict(self, request: PredictRequest) -> bytes:
        """The entities of the texts."""
        results = await self.results(request)
        return await self._desk.prepared(
            _n_characters(request),
            lambda: encoded_json({**self._model_name(), "results": results()}),
        )

    async def results(
        self, request: PredictRequest, *, waits: bool = False
    ) -> Callable[[], list[dict[str, Any]]]:
        """Label the texts; the function that is returned makes the JSON of the results.

        ``waits`` says whether the request waits while the queue is full, or is refused.
        """
        model = self._desk.model
        lanes = self._lanes(request, model)
        n_characters = checked_size(request, self._options.limits)
        documents = await self._desk.prepared(
            n_characters, lambda: _documents(request, self._options, model)
        )
        by_lane = await self._desk.labeled(documents, lanes, waits=waits)
        return lambda: _results_json(request, documents, by_lane, self._options)

    def check_ready(self, query: StreamQuery) -> None:
        """Refuse a stream before its lines are read, if none of them could be labeled."""
        self._lanes(query, self._desk.model)

    def _lanes(self, request: PredictRequest | StreamQuery, model: NerModel) -> list[Lane]:
        """The lanes of a request; the first gives the entities."""
        default = model.adapts if self._options.adapt is None else self._options.adapt
        adapts = request.compare or (default if request.adapt is None else request.adapt)
        if adapts and model.parts.datastore is None:
            raise _no_adaptation("compare" if request.compare else "adapt")
        if not adapts:
            return ["plain"]
        return ["adapted", "plain"] if request.compare else ["adapted"]

    async def why(self, request: WhyRequest) -> bytes:
        """A sentence with none, some and all of its neighbors."""
        model = self._desk.model
        if model.parts.datastore is None:
            raise _no_adaptation("body")
        words = request.words
        text = request.text if words is None else " ".join(words)
        n_characters = checked_characters(len(text or ""), self._options.limits)
        document = await self._desk.prepared(
            n_characters, lambda: _sentence_document(request, self._options, model)
        )
        if not document.sentences:
            where = "text" if words is None else "words"
            raise RequestProblem(
                422, "invalid_value", "expected a sentence with words, found none", where=where
            )
        cost = len(explained_subsets(model.settings.retrieval.neighbors))
        (explanations,) = await self._desk.labeled([document], ["why"], cost=cost)
        explanation: Explanation = explanations[0]
        hide_source = self._options.hide_source
        return await self._desk.prepared(
            n_characters,
            lambda: encoded_json(
                {**self._model_name(), **why_json(explanation, hide_source=hide_source)}
            ),
        )

    def _model_name(self) -> dict[str, Any]:
        return {"model": self._served.identity}


def encoded_json(content: dict[str, Any]) -> bytes:
    """JSON in UTF-8."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def checked_size(request: PredictRequest, limits: Limits) -> int:
    """Refuse a request with too many texts or characters; gives the number of characters."""
    texts = request.words if request.texts is None else request.texts
    where = "words" if request.texts is None else "texts"
    if texts is not None and len(texts) > limits.max_texts:
        raise too_large(
            "too_many_texts",
            "texts",
            limits.max_texts,
            len(texts),
            "send them in several requests, or use /v1/stream",
            where,
        )
    return checked_characters(_n_characters(request), limits, where)


def _n_characters(request: PredictRequest) -> int:
    in_words = sum(len(word) + 1 for words in request.words or () for word in words)
    return sum(map(len, request.texts or ())) + in_words


def checked_characters(n_characters: int, limits: Limits, where: str = "text") -> int:
    """Refuse too many characters."""
    if n_characters > limits.max_characters:
        raise too_large(
            "too_many_characters",
            "characters",
            limits.max_characters,
            n_characters,
            "send the text in parts",
            where,
        )
    return n_characters


def _no_adaptation(where: str) -> RequestProblem:
    message = "this model has no source sentences to adapt to; leave this out"
    return RequestProblem(422, "cannot_adapt", message, where=where)


def _documents(request: PredictRequest, options: ServerOptions, model: NerModel) -> list[Document]:
    language = request.language or options.language
    cutter = model.tagger.window_cutter
    if request.texts is not None:
        return [document_of_text(text, language, cutter) for text in request.texts]
    return [document_of_words(words, language, cutter) for words in request.words or ()]


def _sentence_document(request: WhyRequest, options: ServerOptions, model: NerModel) -> Document:
    language = request.language or options.language
    cutter = model.tagger.window_cutter
    if request.words is not None:
        return document_of_words(request.words, language, cutter)
    return document_of_sentence(request.text or "", language, cutter)


def _results_json(
    request: PredictRequest,
    documents: Sequence[Document],
    by_lane: Sequence[Sequence[Any]],
    options: ServerOptions,
) -> list[dict[str, Any]]:
    """The results of a request; the first lane has its entities, the second the plain ones."""
    remaining = [iter(predictions) for predictions in by_lane]
    results = []
    for document in documents:
        n = len(document.sentences)
        predictions, *plain = [list(islice(lane, n)) for lane in remaining]
        results.append(
            result_json(
                document,
                predictions,
                plain[0] if plain else None,
                n_neighbors=request.neighbors,
                hide_source=options.hide_source,
                word_offsets=request.word_offsets,
            )
        )
    return results
