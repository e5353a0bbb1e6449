"""Reads and writes the JSON lines of Prodigy (named entities)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from metacross.text.annotation_formats.annotated_text import (
    AnnotatedText,
    CharacterEntity,
    StoredWords,
    entities_of,
)
from metacross.text.annotation_formats.annotators import MODEL, Annotation, chosen_annotation
from metacross.text.annotation_formats.json_records import (
    JsonObject,
    PlacedRecord,
    label_field,
    list_of_objects,
    number_of,
    offset_pair,
    text_field,
)
from metacross.text.annotation_formats.proposal import Item, Proposal, facts_of, sentence_of
from metacross.text.annotation_formats.stored_words import (
    language_from_json,
    words_from_json,
    words_json,
)
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin
from metacross.text.sentence_splitting import split_sentences

_ACCEPTED = "accept"
_ANNOTATOR_KEYS = ("_annotator_id", "_session_id")


def is_example(record: Mapping[str, Any]) -> bool:
    """Whether a record is an example of Prodigy."""
    tokens = record.get("tokens")
    has_tokens = isinstance(tokens, list) and bool(tokens) and isinstance(tokens[0], dict)
    answered = "answer" in record or "_input_hash" in record
    return isinstance(record.get("text"), str) and (has_tokens or answered)


def annotated_texts(
    records: Iterator[PlacedRecord],
    source: str,
    log: ReadingLog,
    *,
    language: str | None,
    annotator: str | None,
) -> Iterator[AnnotatedText]:
    """The texts of all examples, each with the annotation to read."""
    reader = _ExampleReader(source, log, language, proposals=annotator == MODEL)
    for examples in _by_text(records):
        texts = [
            (_annotator(record.content), annotated)
            for record in examples
            if (annotated := reader.annotated(record)) is not None
        ]
        chosen = _chosen(texts, annotator, log) if texts else None
        if chosen is not None:
            yield chosen


def _by_text(records: Iterator[PlacedRecord]) -> Iterator[list[PlacedRecord]]:
    """Examples of one text together, if they say who annotated them; others as they come."""
    first = next(records, None)
    if first is None:
        return
    if not _annotator(first.content):
        yield from ([record] for record in chain([first], records))
        return
    by_text: dict[str, list[PlacedRecord]] = {}
    for record in chain([first], records):
        by_text.setdefault(str(record.content.get("text")), []).append(record)
    yield from by_text.values()


def _annotator(example: JsonObject) -> str:
    return next((str(example[key]) for key in _ANNOTATOR_KEYS if example.get(key)), "")


def _chosen(
    texts: Sequence[tuple[str, AnnotatedText]], annotator: str | None, log: ReadingLog
) -> AnnotatedText | None:
    """The annotation to read among those of one text; of one annotator the last one counts."""
    by_annotator: dict[str, AnnotatedText] = {}
    for person, annotated in texts:
        if annotated.entities is None:
            continue
        before = by_annotator.get(person)
        if before is not None:
            log.omit(str(before.origin), f"{person} annotated the text again later")
        by_annotator[person] = annotated
    if not by_annotator:
        return texts[0][1]
    annotations = [Annotation(name, text.entities or ()) for name, text in by_annotator.items()]
    place = str(texts[0][1].origin)
    chosen = chosen_annotation(annotations, annotator, place, log)
    return None if chosen is None else by_annotator[chosen.annotator]


@dataclass(frozen=True, slots=True)
class _ExampleReader:
    """How examples are read; ``proposals``: the spans that nobody answered, instead of answers."""

    source: str
    log: ReadingLog
    language: str | None
    proposals: bool

    def annotated(self, record: PlacedRecord) -> AnnotatedText | None:
        """The text of an example with its spans; None if its answer is not ``accept``."""
        example = record.content
        origin = Origin(self.source, record.line)
        text = text_field(example, "text", str(origin))
        answer = example.get("answer", _ACCEPTED)
        if answer != _ACCEPTED:
            self.log.omit(str(origin), f"the answer is {answer!r}: the text is left out")
            return None
        if example.get("relations"):
            n_relations = number_of(example["relations"])
            self.log.omit(str(origin), f"{n_relations} relations are not entities")
        language = language_from_json(example, self.language)
        annotated = AnnotatedText(text, self._entities(example, origin), origin, language)
        stored = words_from_json(example)
        return replace(annotated, words=stored or _tokens(example, text, str(origin)))

    def _entities(self, example: JsonObject, origin: Origin) -> tuple[CharacterEntity, ...] | None:
        answered = "answer" in example
        if answered == self.proposals:
            if not answered and example.get("spans"):
                self.log.remark("examples have spans and no answer; --annotator model reads them")
            return None
        spans = example.get("spans")
        if spans is None:
            return () if answered else None
        return tuple(_spans(spans, origin))


def _spans(spans: object, origin: Origin) -> Iterator[CharacterEntity]:
    for number, span in enumerate(list_of_objects(spans, "spans", str(origin)), start=1):
        place = f"{origin}, span {number}"
        start, end = offset_pair(span.get("start"), span.get("end"), place)
        yield CharacterEntity(start, end, label_field(span.get("label"), place), place)


def _tokens(example: JsonObject, text: str, place: str) -> StoredWords | None:
    """The tokens of a text that is one sentence; they do not say where sentences end, so a longer
    text is split anew.
    """
    tokens = list_of_objects(example.get("tokens"), "tokens", place)
    offsets = []
    for number, token in enumerate(tokens, start=1):
        start, end = offset_pair(token.get("start"), token.get("end"), f"{place}, token {number}")
        if text[start:end].strip():
            offsets.append((start, end))
    language = language_from_json(example, None)
    is_sentence = len(list(split_sentences(text, language))) == 1
    return StoredWords(offsets=tuple(offsets)) if offsets and is_sentence else None


def example_record(item: Item) -> JsonObject:
    """A sentence as an example; gold entities have an answer, proposed ones have none."""
    sentence = sentence_of(item)
    layout = sentence.laid_out()
    record: JsonObject = {
        "text": layout.text,
        "tokens": [
            {
                "text": layout.text[start:end],
                "start": start,
                "end": end,
                "id": number,
                "ws": layout.text[end : end + 1] == " ",
            }
            for number, (start, end) in enumerate(layout.offsets)
        ],
    }
    if sentence.spans is not None:
        record["spans"] = [
            {
                "start": entity.start,
                "end": entity.end,
                "label": entity.label,
                "token_start": span.start,
                "token_end": span.end - 1,
            }
            for span, entity in zip(sentence.spans, entities_of(sentence), strict=True)
        ]
    if isinstance(item, Proposal):
        for span_record, score in zip(record.get("spans", ()), item.scores, strict=False):
            span_record["score"] = round(score, 4)
    elif sentence.spans is not None:
        record["answer"] = _ACCEPTED
    facts = facts_of(item)
    return {**record, **words_json(sentence), **({"meta": facts} if facts else {})}
