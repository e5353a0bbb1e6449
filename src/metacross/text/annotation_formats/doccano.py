"""Reads and writes the JSON lines of doccano (sequence labeling)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from metacross.errors import DataError
from metacross.text.annotation_formats.annotated_text import (
    AnnotatedText,
    CharacterEntity,
    entities_of,
)
from metacross.text.annotation_formats.json_records import (
    JsonObject,
    PlacedRecord,
    label_field,
    number_of,
    offset_pair,
    text_field,
)
from metacross.text.annotation_formats.proposal import Item, facts_of, sentence_of
from metacross.text.annotation_formats.stored_words import (
    KEY,
    language_from_json,
    words_from_json,
    words_json,
)
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin

_LISTS = ("label", "labels")
_META_KEYS = ("meta", "metadata")


def is_example(record: Mapping[str, Any]) -> bool:
    """Whether a record is a text of doccano with its entities."""
    if not isinstance(record.get("text"), str) or "tokens" in record:
        return False
    entities = record.get("entities")
    if isinstance(entities, list) and entities:
        return isinstance(entities[0], dict) and "start_offset" in entities[0]
    return isinstance(record.get(KEY), dict) or any(
        isinstance(record.get(key), list) for key in _LISTS
    )


def has_empty_entities(record: Mapping[str, Any]) -> bool:
    """Whether a record could be an example or one of our own: its list of entities is empty."""
    return record.get("entities") == [] and not is_example(record)


def annotated_example(
    record: PlacedRecord, source: str, log: ReadingLog, *, language: str | None
) -> AnnotatedText:
    """The text of an example with its entities."""
    example = record.content
    origin = Origin(source, record.line, item=f"id {example['id']}" if "id" in example else "")
    text = text_field(example, "text", str(origin))
    if example.get("relations"):
        log.omit(str(origin), f"{number_of(example['relations'])} relations are not entities")
    facts = _facts(example)
    return AnnotatedText(
        text,
        _entities(example, origin),
        origin,
        language_from_json(facts, language),
        words_from_json(facts),
    )


def _facts(example: JsonObject) -> JsonObject:
    """What was stored beside the text: on import it becomes metadata of the example."""
    nested = [example[key] for key in _META_KEYS if isinstance(example.get(key), dict)]
    return {key: value for facts in (example, *nested) for key, value in facts.items()}


def _entities(example: JsonObject, origin: Origin) -> tuple[CharacterEntity, ...] | None:
    for key in (*_LISTS, "entities"):
        if example.get(key) is not None:
            return tuple(_entities_in(example[key], key, origin))
    return None


def _entities_in(items: object, key: str, origin: Origin) -> Iterator[CharacterEntity]:
    if not isinstance(items, list):
        raise DataError(f"{origin}: expected a list as {key!r}, found {items!r}"[:300])
    for number, item in enumerate(items, start=1):
        place = f"{origin}, {key} {number}"
        match item:
            case [start, end, label]:
                pass
            case {"start_offset": start, "end_offset": end, "label": label}:
                pass
            case _:
                raise DataError(
                    f"{place}: expected start, end and label of an entity, found {item!r}"[:300]
                )
        yield CharacterEntity(*offset_pair(start, end, place), label_field(label, place), place)


def example_record(item: Item) -> JsonObject:
    """A sentence as an example."""
    sentence = sentence_of(item)
    record: JsonObject = {"text": sentence.laid_out().text}
    if sentence.spans is not None:
        record["label"] = [[e.start, e.end, e.label] for e in entities_of(sentence)]
    else:
        record[KEY] = {}  # without labels a reader knows the record by this key only
    return {**record, **words_json(sentence), **facts_of(item)}
