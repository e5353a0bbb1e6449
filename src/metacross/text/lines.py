"""Reads the lines of a file, with their numbers."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

from metacross.errors import DataError, SettingsError

NumberedLine: TypeAlias = tuple[int, str]

LONGEST_LINE = 4_000_000  # bytes; longer ones are no text but a mistake


def numbered_lines(stream: BinaryIO, source: str, encoding: str) -> Iterator[NumberedLine]:
    """The lines from 1 on, without their ends (LF or CRLF) and without a byte-order mark.

    Only a line feed ends a line, so that words with other control characters stay whole.
    """
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise SettingsError(
            f"expected an encoding such as utf-8 or latin-1, found {encoding!r}"
        ) from None
    number = 0
    while raw := stream.readline(LONGEST_LINE + 1):
        number += 1
        line = _decoded(raw, f"{source}:{number}", encoding)
        if number == 1:
            line = line.removeprefix("\ufeff")
        yield number, line.removesuffix("\n").removesuffix("\r")


def _decoded(raw: bytes, place: str, encoding: str) -> str:
    if len(raw) > LONGEST_LINE:
        raise DataError(f"{place}: expected text, found a line of over {LONGEST_LINE:,} bytes")
    if b"\0" in raw:
        raise DataError(f"{place}: expected text, found a NUL byte; is it a binary or UTF-16 file?")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        raise DataError(
            f"{place}: expected {encoding}, found byte 0x{raw[problem.start]:02x} at byte "
            f"{problem.start + 1}; if the file is in another encoding, name it: "
            f"--encoding latin-1"
        ) from None
