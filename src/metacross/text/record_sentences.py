"""Makes sentences of JSON objects that hold a document or the words of a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metacross.errors import DataError
from metacross.text.annotation_formats.stored_words import language_from_json
from metacross.text.jsonl import TAG_KEYS, TOKEN_KEYS, check_encodable, sentence_from_record
from metacross.text.reading import sentence_layouts, unlabeled
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin, Sentence


def sentences_of_record(
    record: dict[str, Any], origin: Origin, *, column: str | None, language: str | None
) -> Iterator[Sentence]:
    """The sentences of a record, without annotation: a text is split into sentences, a list of
    words is one.

    ``column`` names what to read; None: ``tokens``, ``words`` or ``text``. A null or an empty text
    has no sentences.

    >>> record = {"text": "Ana slept. Tom ran.", "label": []}
    >>> [s.words for s in sentences_of_record(record, Origin("x", 1), column=None, language="en")]
    [('Ana', 'slept', '.'), ('Tom', 'ran', '.')]
    """
    language = language_from_json(record, language)
    if column is None and any(_is_words(record.get(key)) for key in TOKEN_KEYS):
        unlabeled_record = {key: value for key, value in record.items() if key not in TAG_KEYS}
        sentence = sentence_from_record(unlabeled_record, origin, ReadingLog(), language=language)
        if sentence is not None:
            yield sentence
        return
    key = "text" if column is None else column
    if key not in record:
        keys = ", ".join(map(repr, record)) or "no keys"
        expected = "'tokens' or 'text'" if column is None else repr(column)
        raise DataError(f"{origin}: expected {expected}, found {keys}"[:300] + _hint(column))
    yield from _sentences_of_value(record[key], key, origin, language)


def _sentences_of_value(
    value: Any,  # noqa: ANN401 - JSON
    key: str,
    origin: Origin,
    language: str | None,
) -> Iterator[Sentence]:
    if value is None or value == []:
        return
    if isinstance(value, str):
        check_encodable(value, origin)
        for start, layout in sentence_layouts(value, language):
            yield unlabeled(layout, language, Origin(origin.source, origin.line, start))
    elif _is_words(value):
        for word in value:
            check_encodable(word, origin)
        yield Sentence(tuple(value), None, language, origin)
    else:
        raise DataError(
            f"{origin}: expected a text or a list of words as {key!r}, found {value!r}"[:300]
        )


def _is_words(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(w, str) for w in value)


def _hint(column: str | None) -> str:
    return "; name the key of the text: --column NAME" if column is None else ""
