"""Keeps the words of a sentence beside its text in JSON, for tools that know text only."""

from __future__ import annotations

from typing import Any

from metacross.text.annotation_formats.annotated_text import StoredWords, words_to_store
from metacross.text.sentence import Sentence

KEY = "metacross"
LANGUAGE = "language"


def words_json(sentence: Sentence) -> dict[str, Any]:
    """The language and, where the text alone would read back differently, the words."""
    record: dict[str, Any] = {}
    if sentence.language is not None:
        record[LANGUAGE] = sentence.language
    words = words_to_store(sentence)
    if words is not None:
        record[KEY] = (
            {"offsets": [list(pair) for pair in words.offsets]}
            if words.offsets is not None
            else {"tokens": list(words.words or ())}
        )
    return record


def words_from_json(record: object) -> StoredWords | None:
    """The words in a record; None if there are none, or what is there is something else."""
    stored = record.get(KEY) if isinstance(record, dict) else None
    match stored:
        case {"tokens": [*tokens]} if all(isinstance(token, str) for token in tokens):
            return StoredWords(words=tuple(map(str, tokens)))
        case {"offsets": [*pairs]} if all(map(_is_pair, pairs)):
            return StoredWords(offsets=tuple((pair[0], pair[1]) for pair in pairs))
    return None


def language_from_json(record: object, default: str | None) -> str | None:
    """The language in a record; what is no text, or empty, names none, so the default is meant."""
    language = record.get(LANGUAGE) if isinstance(record, dict) else None
    return language if isinstance(language, str) and language else default


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)
