"""Reads and writes the tasks of Label Studio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from metacross.text.annotation_formats.offset_units import UNITS, TextOffsets
from metacross.text.annotation_formats.proposal import Item, Proposal, facts_of, sentence_of
from metacross.text.annotation_formats.stored_words import (
    KEY,
    LANGUAGE,
    language_from_json,
    words_from_json,
    words_json,
)
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin

FROM_NAME, TO_NAME = "label", "text"
_REGION_KEYS = {"start", "end", "labels"}


def is_task(record: Mapping[str, Any]) -> bool:
    """Whether a record is a task of Label Studio, in its JSON or its JSON-MIN export."""
    return isinstance(record.get("data"), dict) or (
        "annotation_id" in record and "annotator" in record
    )


def annotated_task(
    record: PlacedRecord,
    source: str,
    log: ReadingLog,
    *,
    language: str | None,
    annotator: str | None,
    field: str | None = None,
) -> AnnotatedText | None:
    """The text of a task with the annotation to read; None if it is left out.

    ``field`` is the field of the task that has the text; None: it is found out.
    """
    task = record.content
    name = f"task {task['id']}" if "id" in task else f"task no. {record.number}"
    origin = Origin(source, record.line, item=name)
    flat = not isinstance(task.get("data"), dict)
    data: JsonObject = task if flat else task["data"]
    regions = _min_regions(task, str(origin)) if flat else _regions(task, origin, log, annotator)
    text = _text(data, field, regions, str(origin))
    entities: tuple[CharacterEntity, ...] | None = None
    if regions:
        offsets = TextOffsets(text)
        annotations = [
            Annotation(
                person,
                tuple(
                    entity
                    for value, place in found
                    if (entity := _entity(value, offsets, place, log)) is not None
                ),
            )
            for person, found in regions
        ]
        chosen = chosen_annotation(annotations, annotator, str(origin), log)
        if chosen is None:
            return None
        entities = chosen.entities
    return AnnotatedText(
        text, entities, origin, language_from_json(data, language), words_from_json(data)
    )


_Regions = list[tuple[str, list[tuple[JsonObject, str]]]]
"""For each annotator the values of the regions, with their places."""


def _regions(task: JsonObject, origin: Origin, log: ReadingLog, annotator: str | None) -> _Regions:
    """The regions of each annotator who did not cancel the task."""
    key = "predictions" if annotator == MODEL else "annotations"
    found: _Regions = []
    annotations = task.get(key)
    if isinstance(annotations, list) and annotations and all(type(a) is int for a in annotations):
        log.remark(f"the export has only the numbers of {key}, not their entities")
        annotations = []
    for number, annotation in enumerate(list_of_objects(annotations, key, str(origin)), start=1):
        place = f"{origin}, {key[:-1]} {annotation.get('id', number)}"
        if annotation.get("was_cancelled"):
            log.omit(place, "the annotator skipped the task")
            continue
        person = annotation.get("model_version" if annotator == MODEL else "completed_by")
        results = list_of_objects(annotation.get("result"), "result", place)
        found.append((_person(person), list(_label_regions(results, place, log))))
    if key == "annotations" and not found and task.get("predictions"):
        log.remark("tasks have predictions and no annotation; --annotator model reads them")
    return found


def _person(value: object) -> str:
    """The id of an annotator: a number, or the email in an export with user details."""
    if isinstance(value, dict):
        value = value.get("email", value.get("id"))
    return "" if value is None else str(value)


def _label_regions(
    results: Sequence[JsonObject], place: str, log: ReadingLog
) -> Iterator[tuple[JsonObject, str]]:
    for number, result in enumerate(results, start=1):
        region_place = f"{place}, region {result.get('id', number)}"
        value = result.get("value")
        if isinstance(value, dict) and value.keys() >= _REGION_KEYS:
            yield value, region_place
        else:
            log.omit(region_place, f"{result.get('type', 'unknown')!r} is not an entity")


def _min_regions(task: JsonObject, place: str) -> _Regions:
    """The regions in JSON-MIN: any field with a list of ranges."""
    values = [
        (value, f"{place}, {key} {number}")
        for key, content in task.items()
        if isinstance(content, list)
        for number, value in enumerate(content, start=1)
        if isinstance(value, dict) and value.keys() >= _REGION_KEYS
    ]
    return [(_person(task.get("annotator")), values)]


def _text(data: JsonObject, field: str | None, regions: _Regions, place: str) -> str:
    """The annotated text; without a ``field``: ``text``, or the one in which the regions lie."""
    texts = {
        key: value
        for key, value in data.items()
        if isinstance(value, str) and key not in (KEY, LANGUAGE)
    }
    expected = field or TO_NAME
    if expected in texts:
        return texts[expected]
    values = [value for _, found in regions for value, _ in found]
    if len(texts) > 1 and values:
        fitting = {key: text for key, text in texts.items() if _fits(text, values)}
        texts = fitting or texts
    if field is not None or len(texts) != 1:
        raise DataError(
            f"{place}: expected the text in the field {expected!r}, found "
            f"{', '.join(map(repr, texts)) or 'no text'}"
        )
    return next(iter(texts.values()))


def _fits(text: str, values: Sequence[JsonObject]) -> bool:
    offsets = TextOffsets(text)
    return all(
        type(value["start"]) is int
        and type(value["end"]) is int
        and offsets.in_code_points(value["start"], value["end"], value.get("text")) is not None
        for value in values
    )


def _entity(
    value: JsonObject, offsets: TextOffsets, place: str, log: ReadingLog
) -> CharacterEntity | None:
    start, end = offset_pair(value["start"], value["end"], place)
    labels = value["labels"]
    if not isinstance(labels, list) or not labels:
        raise DataError(f"{place}: expected labels, found {labels!r}"[:300])
    if len(labels) > 1:
        log.lose(place, f"expected one label, found {', '.join(map(str, labels))}")
        return None
    surface = value.get("text")
    found = offsets.in_code_points(start, end, surface if isinstance(surface, str) else None)
    if found is None:
        log.lose(
            place,
            f"expected offsets that give {surface!r}, found {start} to {end}, which do not in any "
            f"of {', '.join(UNITS)}",
        )
        return None
    unit, first, last = found
    if unit != UNITS[0]:
        log.remark(f"offsets of Label Studio were read as {unit}")
    return CharacterEntity(first, last, label_field(labels[0], place), place)


def task_record(item: Item) -> JsonObject:
    """A sentence as a task: gold entities as annotation, proposed ones as prediction."""
    sentence = sentence_of(item)
    data = {"text": sentence.laid_out().text, **words_json(sentence), **facts_of(item)}
    record: JsonObject = {"data": data}
    if isinstance(item, Proposal):
        record["predictions"] = [prediction_record(item)]
    elif sentence.spans is not None:
        record["annotations"] = [{"result": region_records(item)}]
    return record


def prediction_record(proposal: Proposal) -> JsonObject:
    """The entities of a proposal as a prediction."""
    record: JsonObject = {"model_version": proposal.model}
    if proposal.score is not None:
        record["score"] = round(proposal.score, 4)
    return {**record, "result": region_records(proposal)}


def region_records(
    item: Item, *, from_name: str = FROM_NAME, to_name: str = TO_NAME, offset: int = 0
) -> list[JsonObject]:
    """The entities of an item as regions; ``offset`` is where its text starts in the task's."""
    sentence = sentence_of(item)
    text = sentence.laid_out().text
    regions = []
    for number, entity in enumerate(entities_of(sentence)):
        region: JsonObject = {
            "id": f"e{offset + entity.start}",
            "from_name": from_name,
            "to_name": to_name,
            "type": "labels",
            "value": {
                "start": offset + entity.start,
                "end": offset + entity.end,
                "text": text[entity.start : entity.end],
                "labels": [entity.label],
            },
        }
        if isinstance(item, Proposal):
            if item.scores:
                region["score"] = round(item.scores[number], 4)
            if item.hints:
                region["meta"] = {"text": [item.hints[number]]}
        regions.append(region)
    return regions
