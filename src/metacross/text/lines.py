"""Reads the lines of a text file, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Protocol, TypeAlias

from metacross.errors import DataError, SettingsError

NumberedLine: TypeAlias = tuple[int, str]

MAX_LINE_BYTES = 4_000_000  # a longer line means that the file is not a corpus
OTHER_ENCODING = (
    "if the file has another encoding, name it (--encoding latin-1, where a command has it) or "
    "convert it to UTF-8: iconv -f latin1 -t utf-8 FILE"
)
"""What to do about a file that is not in the expected encoding."""


class LineStream(Protocol):
    """What lines are read from."""

    def readline(self, size: int, /) -> bytes:
        """The next line, or its first ``size`` bytes."""


class PeekableStream:
    """A stream of bytes whose first lines can be looked at before they are read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._seen: list[bytes] = []

    def starts_json_list(self, *, sure: bool) -> bool:
        """Whether the content starts like a list of JSON objects. ``sure`` says that it is JSON:
        then a bracket alone on a line is enough.
        """
        while not self._seen or not self._seen[-1].strip(b" \t\r\n\xef\xbb\xbf"):
            line = self._stream.readline(MAX_LINE_BYTES + 1)
            if not line:
                return False
            self._seen.append(line)
        start = self._seen[-1].lstrip(b" \t\r\n\xef\xbb\xbf")
        if not start.startswith(b"["):
            return False
        following = start[1:].lstrip()
        return following.startswith(b"{") or (sure and following[:1] in (b"", b"]"))

    def readline(self, size: int, /) -> bytes:
        """The next line."""
        return self._seen.pop(0) if self._seen else self._stream.readline(size)

    def read_all(self) -> bytes:
        """All that was not read yet."""
        content = b"".join(self._seen) + self._stream.read()
        self._seen = []
        return content


def decoded(content: bytes, source: str, encoding: str) -> str:
    """The text of a whole file, without byte-order mark."""
    checked_encoding(encoding)
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source}: expected {encoding}, found byte 0x{content[error.start]:02x} at byte "
            f"{error.start + 1}; {OTHER_ENCODING}"
        ) from None


def checked_encoding(encoding: str) -> None:
    """Refuse an encoding that does not exist, or in which lines cannot be told apart."""
    try:
        lines_end_in_one_byte = "\n".encode(encoding) == b"\n"
    except LookupError:
        raise SettingsError(
            f"expected an encoding such as utf-8 or latin-1, found {encoding!r}"
        ) from None
    if not lines_end_in_one_byte:
        raise SettingsError(
            f"expected an encoding such as utf-8 or latin-1, found {encoding!r}; convert the file: "
            f"iconv -f {encoding} -t utf-8 FILE"
        )


def numbered_lines(
    stream: LineStream, source: str, encoding: str, *, first: int = 1
) -> Iterator[NumberedLine]:
    """Yield (number, line), without line endings (LF or CRLF) and byte-order mark.

    ``first`` is the number of the first line: 1, unless the stream begins inside a file. Only a
    line feed ends a line, so that a word can contain other control characters.
    """
    checked_encoding(encoding)
    number = first - 1
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
        raise DataError(
            f"{place}: expected text, found a NUL byte; if it is UTF-16, convert it: "
            "iconv -f utf-16 -t utf-8 FILE"
        )
    try:
        return raw_line.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place}: expected {encoding}, found byte 0x{raw_line[error.start]:02x} at byte "
            f"{error.start + 1}; {OTHER_ENCODING}"
        ) from None
