"""Answers ``/v1/remember`` and ``/v1/forget``: the served model learns from corrected sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import JSONResponse, Response

from metacross.adaptation.ner_model import NerModel
from metacross.errors import DataError, ModelError
from metacross.serving.batching_queue import Lane
from metacross.serving.documents import document_of_sentences
from metacross.serving.json_body import JsonRoute
from metacross.serving.labeling import LabelingDesk
from metacross.serving.options import ServerOptions
from metacross.serving.predicting import checked_characters
from metacross.serving.problems import RequestProblem
from metacross.serving.schemas import Language, ModelName, ProblemAnswer, Text, Words
from metacross.text.annotation_formats.annotated_text import (
    AnnotatedText,
    CharacterEntity,
    sentences_of_text,
)
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin, Sentence, Span

PATHS = ("/v1/remember", "/v1/forget")
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    403: {"model": ProblemAnswer, "description": "The server was started without --learn."},
    422: {"model": ProblemAnswer, "description": "A field has a wrong value."},
}


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class LabeledEntity(_Request):
    """An entity: characters of ``text``, or words of ``words``, half-open."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    label: Annotated[str, Field(min_length=1)]


class LabeledText(_Request):
    """A text, or the words of a sentence, with all its entities."""

    text: Text | None = Field(None, examples=["Ana vive en Bilbao ."])
    words: Words | None = Field(None, description="The words of one sentence, instead of `text`.")
    entities: list[LabeledEntity] = Field(
        description="All entities; an empty list says that there are none.",
        examples=[[{"start": 0, "end": 3, "label": "PER"}]],
    )
    language: Language | None = None

    @model_validator(mode="after")
    def _one_kind_of_text(self) -> LabeledText:
        if (self.text is None) == (self.words is None):
            found = "neither" if self.text is None else "both"
            raise ValueError(f"expected either text or words, found {found}")
        return self


class RememberRequest(_Request):
    """Corrected texts to learn from."""

    texts: Annotated[list[LabeledText], Field(min_length=1)]


class ForgetRequest(_Request):
    """Remembered sentences to forget."""

    ids: Annotated[list[str], Field(min_length=1)]


class RememberedSentence(BaseModel):
    """A sentence that the model remembers."""

    id: str
    text: str


class RememberAnswer(BaseModel):
    """The sentences of the texts, and how many sentences the model remembers now."""

    model: ModelName
    remembered: list[RememberedSentence]
    total: int


class ForgetAnswer(BaseModel):
    """The ids that were forgotten, and how many sentences the model remembers now."""

    model: ModelName
    forgotten: list[str]
    total: int


router = APIRouter(route_class=JsonRoute)


@router.post("/v1/remember", response_model=RememberAnswer, responses=_PROBLEMS)
async def remember(request: Request, body: RememberRequest) -> Response:
    """Learn from corrected texts, without training; needs a server with --learn."""
    state = request.app.state
    check_learning(state.options)
    model: NerModel = state.desk.model
    results = await state.desk.answered_in_time(
        request, _remembered(body, state.options, state.desk)
    )
    return JSONResponse(
        {
            "model": state.served.identity,
            "remembered": [{"id": item.id, "text": _text(item.sentence)} for item in results],
            "total": len(model.remembered),
        }
    )


@router.post("/v1/forget", response_model=ForgetAnswer, responses=_PROBLEMS)
async def forget(request: Request, body: ForgetRequest) -> Response:
    """Forget remembered sentences; ids that are not known are left out of the answer."""
    state = request.app.state
    check_learning(state.options)
    model: NerModel = state.desk.model
    ids = frozenset(body.ids)
    sentences = [item.sentence for item in model.remembered if item.id in ids]
    results = await state.desk.answered_in_time(
        request, changed_memory(state.desk, "forget", sentences)
    )
    return JSONResponse(
        {
            "model": state.served.identity,
            "forgotten": [item.id for item in results if item is not None],
            "total": len(model.remembered),
        }
    )


async def _remembered(
    body: RememberRequest, options: ServerOptions, desk: LabelingDesk
) -> list[Any]:
    n_characters = sum(
        len(item.text or "") + sum(len(word) + 1 for word in item.words or ())
        for item in body.texts
    )
    checked_characters(n_characters, options.limits, "texts")
    check_teachable(
        desk.model, (entity.label for item in body.texts for entity in item.entities), "texts"
    )
    sentences = await desk.prepared(n_characters, lambda: _sentences(body, options))
    return await changed_memory(desk, "remember", sentences)


async def changed_memory(
    desk: LabelingDesk, lane: Lane, sentences: Sequence[Sentence]
) -> list[Any]:
    """Remember or forget sentences in the model thread, between its batches."""
    cutter = desk.model.tagger.window_cutter
    n_characters = sum(len(word) + 1 for sentence in sentences for word in sentence.words)
    document = await desk.prepared(n_characters, lambda: document_of_sentences(sentences, cutter))
    try:
        (results,) = await desk.labeled([document], [lane])
    except ModelError:  # the model thread has logged it; it names a folder of this machine
        raise RequestProblem(
            500,
            "memory_not_saved",
            "the server cannot change the memory of its model; its log says why",
            where="server",
        ) from None
    return results


def check_learning(options: ServerOptions) -> None:
    """Refuse to learn, unless the server was started for it."""
    if not options.learn:
        raise RequestProblem(
            403,
            "learning_off",
            "this server does not learn; start it with --learn --token-file FILE",
            where="server",
        )


def check_teachable(model: NerModel, labels: Iterable[str], where: str) -> None:
    """Refuse labels that the model does not know, and models that cannot remember."""
    if model.parts.datastore is None:
        raise RequestProblem(
            422, "cannot_adapt", "this model has no datastore to remember sentences in"
        )
    unknown = sorted(set(labels) - {*model.labels})
    if unknown:
        raise RequestProblem(
            422,
            "invalid_value",
            f"expected the labels {', '.join(model.labels)}, found {', '.join(unknown)[:100]}",
            where=where,
        )


def _sentences(body: RememberRequest, options: ServerOptions) -> list[Sentence]:
    sentences: list[Sentence] = []
    for number, item in enumerate(body.texts):
        where = f"texts.{number}"
        try:
            sentences += _labeled_sentences(item, item.language or options.language, where)
        except DataError as error:
            message = str(error).removesuffix("; --lossy leaves it out and says so")
            raise RequestProblem(422, "invalid_value", message, where=where) from None
    return sentences


def _labeled_sentences(item: LabeledText, language: str | None, where: str) -> list[Sentence]:
    if item.words is not None:
        if not item.words:
            return []
        spans = tuple(sorted(Span(e.start, e.end, e.label) for e in item.entities))
        return [Sentence(tuple(item.words), spans, language, Origin("request", 0))]
    entities = tuple(CharacterEntity(e.start, e.end, e.label, where) for e in item.entities)
    annotated = AnnotatedText(item.text or "", entities, Origin("request", 0), language)
    return sentences_of_text(annotated, ReadingLog())


def _text(sentence: Sentence) -> str:
    return sentence.laid_out().text
