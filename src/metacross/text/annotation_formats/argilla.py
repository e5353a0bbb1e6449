"""Reads and writes the records of Argilla (span questions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from metacross.errors import DataError
from metacross.text.annotation_formats.annotated_text import (
    AnnotatedText,
    CharacterEntity,
    entities_of,
)
from metacross.text.annotation_formats.annotators import MODEL, Annotation, chosen_annotation
from metacross.text.annotation_formats.json_records import (
    JsonObject,
    PlacedRecord,
    label_field,
    list_of_objects,
    offset_pair,
)
from metacross.text.annotation_formats.proposal import Item, Proposal, facts_of, sentence_of
from metacross.text.annotation_formats.stored_words import (
    language_from_json,
    words_from_json,
    words_json,
)
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin

QUESTION, FIELD = "ner", "text"
NOBODY = "00000000-0000-0000-0000-000000000000"
"""The user id of gold entities: Argilla wants one, and the user has to fill in a real one."""


def is_record(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of Argilla."""
    return isinstance(record.get("fields"), dict)


def annotated_record(
    record: PlacedRecord,
    source: str,
    log: ReadingLog,
    *,
    language: str | None,
    annotator: str | None,
) -> AnnotatedText | None:
    """The text of a record with the response to read; None if it is left out."""
    content = record.content
    name = f"record {content['id']}" if content.get("id") else f"record no. {record.number}"
    origin = Origin(source, record.line, item=name)
    text = _text(content["fields"], str(origin))
    responses = list(
        _suggestions(content, origin) if annotator == MODEL else _responses(content, origin, log)
    )
    entities: tuple[CharacterEntity, ...] | None = None
    if responses:
        chosen = chosen_annotation(responses, annotator, str(origin), log)
        if chosen is None:
            return None
        entities = chosen.entities
    elif annotator != MODEL and content.get("suggestions"):
        log.remark("records have suggestions and no response; --annotator model reads them")
    facts = content.get("metadata")
    return AnnotatedText(
        text, entities, origin, language_from_json(facts, language), words_from_json(facts)
    )


def _text(fields: JsonObject, place: str) -> str:
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    if FIELD not in texts and len(texts) != 1:
        raise DataError(
            f"{place}: expected the text in the field 'text', found "
            f"{', '.join(map(repr, texts)) or 'no text'}"
        )
    return texts[FIELD] if FIELD in texts else next(iter(texts.values()))


def _responses(content: JsonObject, origin: Origin, log: ReadingLog) -> Iterator[Annotation]:
    """The responses of all users: by question, as the SDK exports them, or by user."""
    responses = content.get("responses") or []
    if isinstance(responses, dict):
        for answers in responses.values():
            for answer in list_of_objects(answers, "responses", str(origin)):
                yield from _response(answer, answer.get("value"), origin, log)
        return
    for response in list_of_objects(responses, "responses", str(origin)):
        values = response.get("values") or {}
        answers = [*values.values()] if isinstance(values, dict) else values
        for answer in list_of_objects(answers, "values", str(origin)):
            yield from _response(response, answer.get("value"), origin, log)


def _response(
    response: JsonObject, value: object, origin: Origin, log: ReadingLog
) -> Iterator[Annotation]:
    user = str(response.get("user_id") or "")
    place = f"{origin}, response of {user or 'unnamed'}"
    status = response.get("status") or "submitted"
    if status != "submitted":
        log.omit(place, f"it is {status}, not submitted")
    elif not isinstance(value, list):
        log.omit(place, f"{value!r} is not a list of entities"[:200])
    else:
        yield Annotation(user, tuple(_entities(value, place)))


def _suggestions(content: JsonObject, origin: Origin) -> Iterator[Annotation]:
    suggestions = content.get("suggestions") or []
    values = list(suggestions.values()) if isinstance(suggestions, dict) else suggestions
    for suggestion in list_of_objects(values, "suggestions", str(origin)):
        agent = str(suggestion.get("agent") or "")
        place = f"{origin}, suggestion of {agent or 'unnamed'}"
        yield Annotation(agent, tuple(_entities(suggestion.get("value"), place)))


def _entities(value: object, place: str) -> Iterator[CharacterEntity]:
    for number, span in enumerate(list_of_objects(value, "value", place), start=1):
        span_place = f"{place}, span {number}"
        start, end = offset_pair(span.get("start"), span.get("end"), span_place)
        yield CharacterEntity(start, end, label_field(span.get("label"), span_place), span_place)


def argilla_record(item: Item) -> JsonObject:
    """A sentence as a record: gold entities as response, proposed ones as suggestion."""
    sentence = sentence_of(item)
    record: JsonObject = {"fields": {FIELD: sentence.laid_out().text}}
    metadata = {**words_json(sentence), **facts_of(item)}
    if metadata:
        record["metadata"] = metadata
    value = [{"start": e.start, "end": e.end, "label": e.label} for e in entities_of(sentence)]
    if isinstance(item, Proposal):
        suggestion = {
            "value": value,
            "score": [round(score, 4) for score in item.scores],
            "agent": item.model,
        }
        record["suggestions"] = {QUESTION: suggestion}
    elif sentence.spans is not None:
        record["responses"] = {QUESTION: [{"value": value, "user_id": NOBODY}]}
    return record
