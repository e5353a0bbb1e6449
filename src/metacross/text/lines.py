"""Reads the lines of a text file, with their numbers."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

from metacross.errors import DataError, SettingsError

NumberedLine: TypeAlias = tuple[int, str]

MAX_LINE_BYTES = 4_000_000  # a longer line means that the file is not a corpus


def numbered_lines(stream: BinaryIO, source: str, encoding: str) -> Iterator[NumberedLine]:
    """Yield (number, line), counted from 1, without line endings (LF or CRLF) and byte-order mark.

    Only a line feed ends a line, so that a word can contain other control characters.
    """
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise SettingsError(
            f"expected an encoding such as utf-8 or latin-1, found {encoding!r}"
        ) from None
    number = 0
    while raw_line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        line = _decoded(raw_line, f"{source}:{number}", encoding)
        if number == 1:
            line = line.removeprefix("\ufeff")
        yield number, line.removesuffix("\n").removesuffix("\r")


def _decoded(raw_line: bytes, place: str, encoding: str) -> str:
    if len(raw_line) > MAX_LINE_BYTES:
        raise DataError(f"{place}: expected text, found a line of over {MAX_LINE_BYTES:,} bytes")
    if b"\0" in raw_line:
        raise DataError(f"{place}: expected text, found a NUL byte; is it a binary or UTF-16 file?")
    try:
        return raw_line.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place}: expected {encoding}, found byte 0x{raw_line[error.start]:02x} at byte "
            f"{error.start + 1}; if the file has another encoding, name it: --encoding latin-1"
        ) from None
