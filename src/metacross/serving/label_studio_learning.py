"""Learns from the annotations that Label Studio's webhook sends."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metacross.errors import DataError
from metacross.serving.labeling import LabelingDesk
from metacross.serving.learning import changed_memory, check_teachable
from metacross.serving.options import ServerOptions
from metacross.serving.problems import RequestProblem
from metacross.text.annotation_formats.annotated_text import sentences_of_text
from metacross.text.annotation_formats.json_records import PlacedRecord, list_of_objects
from metacross.text.annotation_formats.label_config import LabelConfig, read_config
from metacross.text.annotation_formats.label_studio import annotated_task
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin, Sentence

_LOG = logging.getLogger("metacross.serving")
_LEARNED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
_DELETED = "ANNOTATIONS_DELETED"


async def learned_from(
    content: Mapping[str, Any], desk: LabelingDesk, options: ServerOptions
) -> dict[str, Any]:
    """Remember an annotation that was made or changed, forget one that was deleted; what was done.

    An annotation that cannot be learned from is answered too: Label Studio would send it again.
    """
    action = content.get("action")
    try:
        if action in _LEARNED:
            return await _learn(content, desk, options)
        if action == _DELETED:
            annotations = list_of_objects(content.get("annotations"), "annotations", "webhook")
            ids = [annotation.get("id") for annotation in annotations]
            return {"forgotten": await _forget(desk, [_mark(content, number) for number in ids])}
    except (DataError, RequestProblem) as error:
        message = error.message if isinstance(error, RequestProblem) else str(error)
        message = message.removesuffix("; --lossy leaves it out and says so")
        _LOG.warning("Label Studio: not learned: %s", message)
        return {"remembered": 0, "reason": message}
    return {}


async def _learn(
    content: Mapping[str, Any], desk: LabelingDesk, options: ServerOptions
) -> dict[str, Any]:
    task, annotation = content.get("task"), content.get("annotation")
    if not isinstance(task, dict) or not isinstance(annotation, dict):
        raise DataError("webhook: expected a task and an annotation; send the payload with them")
    mark = _mark(content, annotation.get("id"))
    sentences = await desk.prepared(
        _n_characters(task), lambda: _sentences(task, annotation, content, desk, options)
    )
    forgotten = await _forget(desk, [mark], keep=sentences)
    if sentences:
        origin = Origin(mark, 0, item=f"task {task.get('id')}")
        await changed_memory(desk, "remember", [replace(s, origin=origin) for s in sentences])
    return {"remembered": len(sentences), "forgotten": forgotten}


def _n_characters(task: dict[str, Any]) -> int:
    data = task.get("data")
    texts = data.values() if isinstance(data, dict) else ()
    return sum(len(text) for text in texts if isinstance(text, str))


def _sentences(
    task: dict[str, Any],
    annotation: dict[str, Any],
    content: Mapping[str, Any],
    desk: LabelingDesk,
    options: ServerOptions,
) -> list[Sentence]:
    record = PlacedRecord({**task, "annotations": [annotation]}, 0, 1)
    config = _config(content)
    annotated = annotated_task(
        record,
        "Label Studio",
        ReadingLog(),
        language=options.language,
        annotator=None,
        field=None if config is None else config.field,
    )
    if annotated is None or annotated.entities is None:  # skipped by the annotator
        return []
    sentences = sentences_of_text(annotated, ReadingLog())
    if config is not None:
        names = _model_names(config, desk)
        sentences = [sentence.relabeled(names) for sentence in sentences]
    check_teachable(
        desk.model, (span.label for s in sentences for span in s.spans or ()), "annotation"
    )
    return sentences


def _config(content: Mapping[str, Any]) -> LabelConfig | None:
    """The configuration of the project; None if the webhook was sent without it."""
    project = content.get("project")
    xml = project.get("label_config") if isinstance(project, dict) else None
    return read_config(xml) if isinstance(xml, str) else None


def _model_names(config: LabelConfig, desk: LabelingDesk) -> dict[str, str | None]:
    """The label of the model for each label of the project that has another name there."""
    labels = config.labels
    return {labels[name]: name for name in desk.model.labels if name in labels}


def _mark(content: Mapping[str, Any], annotation: object) -> str:
    """How a remembered sentence names the annotation that it came from."""
    project = content.get("project")
    number = project.get("id") if isinstance(project, dict) else None
    return f"Label Studio project {number}, annotation {annotation}"


async def _forget(
    desk: LabelingDesk, marks: list[str], *, keep: list[Sentence] | None = None
) -> int:
    """Forget what came from these annotations, except sentences that are remembered anew."""
    kept = {sentence.words for sentence in keep or ()}
    sentences = [
        item.sentence
        for item in desk.model.remembered
        if item.sentence.words not in kept
        and any((item.source or "").startswith(f"{mark}:") for mark in marks)
    ]
    if sentences:
        await changed_memory(desk, "forget", sentences)
    return len(sentences)
