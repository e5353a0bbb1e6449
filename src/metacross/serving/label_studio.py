"""The machine-learning backend of Label Studio: proposes labels, and learns from annotations."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import SentencePrediction
from metacross.adaptation.proposals import least_certain, proposal_of
from metacross.errors import DataError
from metacross.serving.batching_queue import Lane
from metacross.serving.documents import Document, document_of_text
from metacross.serving.json_body import limited_body, read_in_time, strict_json
from metacross.serving.label_studio_learning import learned_from
from metacross.serving.labeling import LabelingDesk
from metacross.serving.options import ServerOptions
from metacross.serving.problems import RequestProblem
from metacross.serving.served_model import ServedModel
from metacross.text.annotation_formats.label_config import LabelConfig, read_config
from metacross.text.annotation_formats.label_studio import FROM_NAME, TO_NAME, region_records

PREFIX = "/label-studio"
HEALTH_PATHS = (f"{PREFIX}/health", f"{PREFIX}/")
PATHS = (
    *HEALTH_PATHS,
    *(f"{PREFIX}/{name}" for name in ("setup", "predict", "versions", "webhook")),
)
_LOG = logging.getLogger("metacross.serving")
_TASKS_AT_ONCE = 32  # labeled together; between two such groups the time is looked at
_PLAIN = "/plain"

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/")
@router.get("/health")
async def health() -> Response:
    """Whether the backend runs."""
    return JSONResponse({"status": "UP", "model_class": "metacross"})


@router.get("/versions")
async def versions(request: Request) -> Response:
    """The one version that there is."""
    return JSONResponse({"versions": [version_name(request.app.state.served)]})


@router.post("/setup")
async def setup(request: Request) -> Response:
    """Say which model answers. The body holds a token of a user: nothing of it is kept."""
    content = await _object(request)
    schema = content.get("schema")
    if isinstance(schema, str) and schema.strip():
        try:
            read_config(schema)
        except DataError as error:
            _LOG.warning("Label Studio project %.40s: %s", content.get("project"), error)
    return JSONResponse({"model_version": version_name(request.app.state.served)})


@router.post("/predict")
async def predict(request: Request) -> Response:
    """Exactly one result for each task, in order."""
    state = request.app.state
    content = await _object(request)
    tasks = content.get("tasks")
    if not isinstance(tasks, list):
        raise RequestProblem(422, "invalid_value", "expected a list of tasks", where="tasks")
    config = _config(content, state.desk.model)
    backend = _Backend(state.desk, state.options, state.served, config)
    results = await state.desk.answered_while_awaited(request, backend.results(tasks))
    return JSONResponse({"results": results})


@router.post("/webhook")
async def webhook(request: Request) -> Response:
    """Learn from an annotation, if the server was started with --learn."""
    state = request.app.state
    content = await _object(request)
    answer: dict[str, Any] = {"status": "ok"}
    if state.options.learn:
        answer |= await learned_from(content, state.desk, state.options)
    return JSONResponse(answer, status_code=201)


def version_name(served: ServedModel) -> str:
    """The version of the model as Label Studio shows it."""
    return f"{served.name}-{served.version}"


async def _object(request: Request) -> dict[str, Any]:
    """The body, which may hold all tasks of a project."""
    limits = request.app.state.limits
    body = await read_in_time(limited_body(request, limits.max_stream_bytes, "tasks"), limits)
    content = strict_json(body or b"{}")
    if not isinstance(content, dict):
        raise RequestProblem(422, "invalid_value", "expected a JSON object")
    return content


def _config(content: dict[str, Any], model: NerModel) -> LabelConfig:
    """The configuration of the project; without one: the names that ``convert`` writes."""
    xml = content.get("label_config")
    if not isinstance(xml, str) or not xml.strip():
        return LabelConfig(FROM_NAME, TO_NAME, "text", {label: label for label in model.labels})
    try:
        return read_config(xml)
    except DataError as error:
        raise RequestProblem(422, "invalid_value", str(error), where="label_config") from None


@dataclass(frozen=True, slots=True)
class _Backend:
    """Labels the tasks of a request."""

    desk: LabelingDesk
    options: ServerOptions
    served: ServedModel
    config: LabelConfig

    async def results(self, tasks: Sequence[object]) -> list[dict[str, Any]]:
        """A result for each task: adapted until the time is over, then plain."""
        deadline = time.monotonic() + self.options.label_studio_seconds
        results: list[dict[str, Any]] = []
        for start in range(0, len(tasks), _TASKS_AT_ONCE):
            group = [await self._document(task) for task in tasks[start : start + _TASKS_AT_ONCE]]
            results += await self._labeled(group, deadline)
        return results

    async def _document(self, task: object) -> Document | None:
        """The text of a task; None if it has none, or one that the server does not take."""
        data = task.get("data") if isinstance(task, dict) else None
        text = data.get(self.config.field) if isinstance(data, dict) else None
        cutter = self.desk.model.tagger.window_cutter
        if not isinstance(text, str) or any("\ud800" <= c <= "\udfff" for c in text):
            _LOG.warning("Label Studio: a task without a text in %.40r", self.config.field)
            return None
        language = data.get("language") if isinstance(data, dict) else None
        if not isinstance(language, str) or not language:
            language = self.options.language
        document = await self.desk.prepared(
            len(text), lambda: document_of_text(text, language, cutter)
        )
        n_pieces = sum(document.pieces)
        if n_pieces > self.options.limits.queue_pieces:
            _LOG.warning("Label Studio: a task with %d word pieces is too long", n_pieces)
            return None
        return document

    async def _labeled(
        self, group: Sequence[Document | None], deadline: float
    ) -> list[dict[str, Any]]:
        model = self.desk.model
        adapts = model.adapts if self.options.adapt is None else self.options.adapt
        adapts = adapts and model.parts.datastore is not None
        documents = [document for document in group if document is not None]
        predictions: list[list[SentencePrediction]] | None = None
        if adapts and time.monotonic() < deadline:
            seconds = deadline - time.monotonic()
            try:
                predictions = await asyncio.wait_for(self._predicted(documents, "adapted"), seconds)
            except (TimeoutError, asyncio.TimeoutError):
                _LOG.warning("Label Studio: no time left to adapt; the rest is labeled plain")
        version = version_name(self.served)
        if predictions is None:
            predictions = await self._predicted(documents, "plain")
            version += _PLAIN if adapts else ""
        remaining = iter(zip(documents, predictions, strict=True))
        return [
            {"model_version": version, "score": 0.0, "result": []}
            if document is None
            else self._result(*next(remaining), version)
            for document in group
        ]

    async def _predicted(
        self, documents: Sequence[Document], lane: Lane
    ) -> list[list[SentencePrediction]]:
        """The predictions of each document; a part that is too large for the queue waits."""
        predictions = []
        for document in documents:
            predictions.append(self.desk.labeled([document], [lane], waits=True))
        return [results for (results,) in await asyncio.gather(*predictions)]

    def _result(
        self, document: Document, predictions: Sequence[SentencePrediction], version: str
    ) -> dict[str, Any]:
        regions: list[dict[str, Any]] = []
        for prediction, start in zip(predictions, document.starts, strict=True):
            known = self._known(prediction)
            proposal = proposal_of(known, model=version, show_source=not self.options.hide_source)
            renamed = proposal.sentence.relabeled(self.config.labels)
            regions += region_records(
                replace(proposal, sentence=renamed),
                from_name=self.config.from_name,
                to_name=self.config.to_name,
                offset=start,
            )
        scores = [least_certain(prediction) for prediction in predictions]
        return {
            "model_version": version,
            "score": round(min(scores, default=1.0), 4),
            "result": regions,
        }

    def _known(self, prediction: SentencePrediction) -> SentencePrediction:
        """The entities whose label the project has, perhaps under another name."""
        kept = [
            (span, score)
            for span, score in zip(prediction.spans, prediction.scores, strict=True)
            if span.label in self.config.labels
        ]
        if len(kept) < len(prediction.spans):
            n_dropped = len(prediction.spans) - len(kept)
            _LOG.info("Label Studio: %d entities of types that the project lacks", n_dropped)
        return replace(
            prediction,
            spans=tuple(span for span, _ in kept),
            scores=tuple(score for _, score in kept),
        )
