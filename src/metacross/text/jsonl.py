"""Reads JSON lines: a sentence a line, as tokens with tags or as text with character spans."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from metacross.errors import DataError
from metacross.text.lines import NumberedLine
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Layout, Origin, Sentence, Span
from metacross.text.word_splitting import split_text

Record: TypeAlias = dict[str, Any]

_TOKEN_KEYS = ("tokens", "words")
_TAG_KEYS = ("tags", "ner_tags")
_SPAN_KEYS = ("spans", "entities", "label", "labels")


def sentences_from_json(
    lines: Iterable[NumberedLine],
    source: str,
    log: ReadingLog,
    *,
    language: str | None = None,
    tag_names: Sequence[str] | None = None,
) -> Iterator[Sentence]:
    """The sentences of a JSON lines file. ``tag_names`` gives numbered tags their names."""
    for number, line in lines:
        if line.strip():
            record = _parsed(line, f"{source}:{number}")
            origin = Origin(source, number)
            sentence = sentence_from_record(
                record, origin, log, language=language, tag_names=tag_names
            )
            if sentence is not None:
                yield sentence


def sentence_from_record(
    record: Record,
    origin: Origin,
    log: ReadingLog,
    *,
    language: str | None = None,
    tag_names: Sequence[str] | None = None,
) -> Sentence | None:
    """One sentence; None, and a count in the log, where it has no words."""
    language = record.get("language", language)
    tokens = _first_present(record, _TOKEN_KEYS)
    if tokens is None and not isinstance(record.get("text"), str):
        keys = ", ".join(map(repr, record)) or "no keys"
        raise DataError(f"{origin}: expected 'tokens' or 'text', found {keys}"[:300])
    if tokens is None:
        return _from_text(record, origin, log, language)
    words = _words(tokens, origin)
    if not words:
        log.empty_sentences += 1
        return None
    tags = _tags(_first_present(record, _TAG_KEYS), words, origin, tag_names)
    for tag in tags or ():
        log.check_tag(tag, str(origin))
    spans = None if tags is None else log.spans(tags, origin.source, [origin.line] * len(tags))
    return Sentence(words, spans, language, origin, _layout(record, words, origin))


def _parsed(line: str, place: str) -> Record:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as problem:
        found = problem.msg if isinstance(problem, json.JSONDecodeError) else "nesting too deep"
        raise DataError(f"{place}: expected a JSON object, found {line[:40]!r} ({found})") from None
    if isinstance(record, list):
        raise DataError(
            f"{place}: expected one JSON object a line, found a list; write its items as lines: "
            f"jq -c '.[]' FILE"
        )
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, found {line[:40]!r}")
    return record


def _first_present(record: Record, keys: Sequence[str]) -> Any:  # noqa: ANN401 - JSON
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _words(tokens: Any, origin: Origin) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise DataError(f"{origin}: expected a list of words as 'tokens', found {tokens!r}"[:300])
    for token in tokens:
        _check_encodable(token, origin)
    return tuple(tokens)


def _check_encodable(text: str, origin: Origin) -> None:
    """JSON can spell half a character, which no file can hold."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"{origin}: expected Unicode text, found a lone surrogate in {text[:40]!r}")


def _tags(
    tags: Any,  # noqa: ANN401 - JSON
    words: tuple[str, ...],
    origin: Origin,
    names: Sequence[str] | None,
) -> list[str] | None:
    if tags is None:
        return None
    if not isinstance(tags, list) or len(tags) != len(words):
        found = len(tags) if isinstance(tags, list) else repr(tags)[:80]
        raise DataError(f"{origin}: expected {len(words)} tags, one a word, found {found}")
    if not any(isinstance(tag, int) for tag in tags):
        return tags
    if names is None:
        raise DataError(
            f"{origin}: expected tags such as 'B-PER', found numbers; give their names in order: "
            f"--tag-names O,B-PER,I-PER"
        )
    unnamed = [tag for tag in tags if not isinstance(tag, int) or not 0 <= tag < len(names)]
    if unnamed:
        raise DataError(f"{origin}: expected tags from 0 to {len(names) - 1}, found {unnamed[0]!r}")
    return [names[tag] for tag in tags]


def _layout(record: Record, words: tuple[str, ...], origin: Origin) -> Layout | None:
    """The text and offsets that our writer adds where a sentence was cut from running text."""
    offsets, text = record.get("offsets"), record.get("text")
    if offsets is None or not isinstance(text, str):
        return None
    ranges = tuple(_range(pair, text, origin) for pair in _list(offsets, "offsets", origin))
    if tuple(text[start:end] for start, end in ranges) != words:
        raise DataError(f"{origin}: expected 'offsets' that cut the tokens out of 'text'")
    return Layout(text, ranges)


def _from_text(
    record: Record, origin: Origin, log: ReadingLog, language: str | None
) -> Sentence | None:
    """Text is split into words, also wherever an entity begins or ends."""
    text: str = record["text"]
    _check_encodable(text, origin)
    marked = _first_present(record, _SPAN_KEYS)
    layout = split_text(text, language)
    entities: list[tuple[int, int, str]] = []
    if marked is not None:
        entities = _character_spans(marked, text, origin)
        cuts = sorted({edge for start, end, _ in entities for edge in (start, end)})
        layout = Layout(text, tuple(_cut(layout.offsets, cuts)))
    if not layout.offsets:
        log.empty_sentences += 1
        return None
    first_word = {start: i for i, (start, _) in enumerate(layout.offsets)}
    last_word = {end: i for i, (_, end) in enumerate(layout.offsets)}
    spans = tuple(Span(first_word[s], last_word[e] + 1, label) for s, e, label in entities)
    words = tuple(text[start:end] for start, end in layout.offsets)
    return Sentence(words, spans if marked is not None else None, language, origin, layout)


def _cut(offsets: Iterable[tuple[int, int]], cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Split the words that have an edge of an entity inside."""
    for start, end in offsets:
        for cut in cuts:
            if start < cut < end:
                yield start, cut
                start = cut
        yield start, end


def _character_spans(
    marked: Any,  # noqa: ANN401 - JSON
    text: str,
    origin: Origin,
) -> list[tuple[int, int, str]]:
    """Entities as (start, end, label), in order, without blanks at their edges."""
    entities = []
    for item in _list(marked, "spans", origin):
        if isinstance(item, dict):
            item = [item.get("start"), item.get("end"), item.get("label")]
        if not isinstance(item, list) or len(item) != 3 or not isinstance(item[2], str):
            raise DataError(f"{origin}: expected start, end and label of an entity, found {item!r}")
        start, end = _range(item[:2], text, origin)
        surface = text[start:end]
        start += len(surface) - len(surface.lstrip())
        end -= len(surface) - len(surface.rstrip())
        if start >= end or not item[2]:
            raise DataError(f"{origin}: expected an entity of at least a letter, found {item!r}")
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
