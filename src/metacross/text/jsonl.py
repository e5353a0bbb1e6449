"""Reads JSON lines: one sentence per line, as tokens with tags or as text with character spans."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from metacross.errors import DataError
from metacross.text.annotation_formats.stored_words import language_from_json
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Layout, Origin, Sentence, Span
from metacross.text.word_splitting import split_text

Record: TypeAlias = dict[str, Any]

TOKEN_KEYS = ("tokens", "words")
TAG_KEYS = ("tags", "ner_tags")
_SPAN_KEYS = ("spans", "entities", "label", "labels")


def sentence_from_record(
    record: Record,
    origin: Origin,
    log: ReadingLog,
    *,
    language: str | None = None,
    tag_names: Sequence[str] | None = None,
) -> Sentence | None:
    """The sentence of a JSON object; None if it has no words, which the log counts. ``language`` is
    that of records which name none.
    """
    language = language_from_json(record, language)
    tokens = _first_present(record, TOKEN_KEYS)
    if tokens is None and not isinstance(record.get("text"), str):
        keys = ", ".join(map(repr, record)) or "no keys"
        raise DataError(f"{origin}: expected 'tokens' or 'text', found {keys}"[:300])
    if tokens is None:
        return _from_text(record, origin, log, language)
    words = _words(tokens, origin)
    if not words:
        log.empty_sentences += 1
        return None
    layout = _layout(record, words, origin)
    named_tags = _named_tags(_first_present(record, TAG_KEYS), words, origin, tag_names)
    if named_tags is None:
        return Sentence(words, None, language, origin, layout)
    tags = tuple(log.checked_tag(tag, str(origin)) for tag in named_tags)
    spans = log.spans(tags, origin.source, [origin.line] * len(tags))
    return Sentence(words, spans, language, origin, layout, tags)


def _first_present(record: Record, keys: Sequence[str]) -> Any:  # noqa: ANN401 - JSON
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _words(tokens: Any, origin: Origin) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise DataError(f"{origin}: expected a list of words as 'tokens', found {tokens!r}"[:300])
    for token in tokens:
        check_encodable(token, origin)
    return tuple(tokens)


def check_encodable(text: str, origin: Origin) -> None:
    """Reject lone surrogates, which JSON can write as escapes but UTF-8 cannot encode."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"{origin}: expected Unicode text, found a lone surrogate in {text[:40]!r}")


def _named_tags(
    tags: Any,  # noqa: ANN401 - JSON
    words: tuple[str, ...],
    origin: Origin,
    names: Sequence[str] | None,
) -> list[Any] | None:
    """The tags of a record, numbers replaced by their names; not yet checked."""
    if tags is None:
        return None
    if not isinstance(tags, list) or len(tags) != len(words):
        found = len(tags) if isinstance(tags, list) else repr(tags)[:80]
        raise DataError(f"{origin}: expected {len(words)} tags, one per word, found {found}")
    if not any(isinstance(tag, int) for tag in tags):
        return tags
    if names is None:
        raise DataError(
            f"{origin}: expected tags such as 'B-PER', found numbers; give their names in order: "
            f"--tag-names O,B-PER,I-PER"
        )
    invalid = [tag for tag in tags if not isinstance(tag, int) or not 0 <= tag < len(names)]
    if invalid:
        raise DataError(f"{origin}: expected tags from 0 to {len(names) - 1}, found {invalid[0]!r}")
    return [names[tag] for tag in tags]


def _layout(record: Record, words: tuple[str, ...], origin: Origin) -> Layout | None:
    """The layout that ``write_corpus`` stores as text and offsets; None if there is none."""
    offsets, text = record.get("offsets"), record.get("text")
    if offsets is None or not isinstance(text, str):
        return None
    ranges = tuple(_range(pair, text, origin) for pair in _list(offsets, "offsets", origin))
    if tuple(text[start:end] for start, end in ranges) != words:
        raise DataError(f"{origin}: expected 'offsets' that give the tokens in 'text'")
    return Layout(text, ranges)


def _from_text(
    record: Record, origin: Origin, log: ReadingLog, language: str | None
) -> Sentence | None:
    """Split the text into words, and also wherever an entity starts or ends."""
    text: str = record["text"]
    check_encodable(text, origin)
    annotations = _first_present(record, _SPAN_KEYS)
    layout = split_text(text, language)
    entities: list[tuple[int, int, str]] = []
    if annotations is not None:
        entities = _character_spans(annotations, text, origin)
        boundaries = sorted({offset for start, end, _ in entities for offset in (start, end)})
        layout = Layout(text, tuple(_split_at(layout.offsets, boundaries)))
    if not layout.offsets:
        log.empty_sentences += 1
        return None
    first_word = {start: i for i, (start, _) in enumerate(layout.offsets)}
    last_word = {end: i for i, (_, end) in enumerate(layout.offsets)}
    spans = tuple(Span(first_word[s], last_word[e] + 1, label) for s, e, label in entities)
    words = tuple(text[start:end] for start, end in layout.offsets)
    return Sentence(words, spans if annotations is not None else None, language, origin, layout)


def _split_at(
    offsets: Iterable[tuple[int, int]], boundaries: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Split the words that contain the boundary of an entity."""
    for start, end in offsets:
        for boundary in boundaries:
            if start < boundary < end:
                yield start, boundary
                start = boundary
        yield start, end


def _character_spans(
    annotations: Any,  # noqa: ANN401 - JSON
    text: str,
    origin: Origin,
) -> list[tuple[int, int, str]]:
    """Entities as (start, end, label), in order, without leading and trailing whitespace."""
    entities = []
    for item in _list(annotations, "spans", origin):
        if isinstance(item, dict):
            item = [item.get("start"), item.get("end"), item.get("label")]
        if not isinstance(item, list) or len(item) != 3 or not isinstance(item[2], str):
            raise DataError(f"{origin}: expected start, end and label of an entity, found {item!r}")
        start, end = _range(item[:2], text, origin)
        surface = text[start:end]
        start += len(surface) - len(surface.lstrip())
        end -= len(surface) - len(surface.rstrip())
        if start >= end or not item[2]:
            raise DataError(
                f"{origin}: expected an entity with at least one character, found {item!r}"
            )
        entities.append((start, end, item[2]))
    entities.sort()
    for (_, end, label), (start, _, next_label) in itertools.pairwise(entities):
        if start < end:
            raise DataError(
                f"{origin}: expected entities that do not overlap, "
                f"found {label} up to {end} and {next_label} from {start}"
            )
    return entities


def _range(pair: Any, text: str, origin: Origin) -> tuple[int, int]:  # noqa: ANN401 - JSON
    match pair:
        case [int(start), int(end)] if 0 <= start < end <= len(text):
            return start, end
    raise DataError(
        f"{origin}: expected a start and a later end within {len(text)} characters, found {pair!r}"
    )


def _list(value: Any, key: str, origin: Origin) -> list[Any]:  # noqa: ANN401 - JSON
    if not isinstance(value, list):
        raise DataError(f"{origin}: expected a list as {key!r}, found {value!r}"[:300])
    return value
