"""Reads the JSON objects of a file: a list of them, or one per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from metacross.errors import DataError
from metacross.text.lines import NumberedLine

JsonObject: TypeAlias = dict[str, Any]

_BETWEEN = re.compile(r"[ \t\r\n,]*")
_LONG_NUMBER = "expected numbers of a few digits, found one of thousands"  # Python refuses it


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A JSON object, the line on which it starts, and its number in the file, from 1."""

    content: JsonObject
    line: int
    number: int


def records_of_list(text: str, source: str) -> Iterator[PlacedRecord]:
    """The objects of a JSON list."""
    decoder = json.JSONDecoder()
    position = text.index("[") + 1
    line, counted = 1 + text.count("\n", 0, position), position
    number = 0
    while True:
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
        line, counted = line + text.count("\n", counted, position), position
        if text[position : position + 1] == "]":
            _check_end(text, position + 1, f"{source}:{line}")
            return
        place = f"{source}:{line}"
        try:
            content, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            found = text[error.pos : error.pos + 40]
            raise DataError(
                f"{source}:{error.lineno}: expected a JSON list, found {found!r} ({error.msg})"
            ) from None
        except RecursionError:
            raise DataError(f"{place}: expected JSON of a few levels, found far more") from None
        except ValueError:
            raise DataError(f"{place}: {_LONG_NUMBER}") from None
        number += 1
        if not isinstance(content, dict):
            raise DataError(f"{place}: expected a JSON object, found {content!r}"[:300])
        yield PlacedRecord(content, line, number)


def _check_end(text: str, position: int, place: str) -> None:
    """Refuse what follows a list, such as a second list: it would be lost."""
    rest = text[position:].strip()
    if rest:
        raise DataError(
            f"{place}: expected the end of the file after the list, found {rest[:40]!r}; put all "
            "objects into one list"
        )


def records_of_lines(lines: Iterable[NumberedLine], source: str) -> Iterator[PlacedRecord]:
    """The objects of JSON lines; blank lines are left out."""
    content_lines = ((number, line) for number, line in lines if line.strip())
    for count, (number, line) in enumerate(content_lines, start=1):
        yield PlacedRecord(parsed_object(line, f"{source}:{number}"), number, count)


def parsed_object(line: str, place: str) -> JsonObject:
    """The JSON object on a line."""
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise DataError(
            f"{place}: expected a JSON object, found {line[:40]!r} ({reason})"
        ) from None
    except ValueError:
        raise DataError(f"{place}: {_LONG_NUMBER}") from None
    if isinstance(record, list):
        raise DataError(
            f"{place}: expected one JSON object per line, found a list; convert it: "
            f"jq -c '.[]' FILE"
        )
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, found {line[:40]!r}")
    return record


def list_of_objects(value: object, key: str, place: str) -> list[JsonObject]:
    """A value that must be a list of objects; null counts as an empty list."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DataError(f"{place}: expected a list of objects as {key!r}, found {value!r}"[:300])
    return value


def number_of(value: object) -> int:
    """How many things a value holds that should be a list."""
    return len(value) if isinstance(value, list | dict) else 1


def text_field(record: JsonObject, key: str, place: str) -> str:
    """A text in a record."""
    text = record.get(key)
    if not isinstance(text, str):
        keys = ", ".join(map(repr, record)) or "no keys"
        raise DataError(f"{place}: expected a text as {key!r}, found {keys}"[:300])
    return text


def offset_pair(start: object, end: object, place: str) -> tuple[int, int]:
    """Two offsets that must be whole numbers."""
    if type(start) is not int or type(end) is not int:
        raise DataError(f"{place}: expected whole numbers as offsets, found {start!r} and {end!r}")
    return start, end


def label_field(value: object, place: str) -> str:
    """A label that must be a text."""
    if not isinstance(value, str) or not value:
        raise DataError(f"{place}: expected the label of an entity, found {value!r}"[:300])
    return value
