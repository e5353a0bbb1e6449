"""Finds out in which units a tool counts the characters of a text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

UNITS = (
    "code points",
    "UTF-16 units",
    "code points with CRLF as one",
    "UTF-16 units with CRLF as one",
)
"""The units that are tried, in this order."""


class TextOffsets:
    """The offsets of a text in all units, computed when they are first needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    def in_code_points(
        self, start: int, end: int, surface: str | None
    ) -> tuple[str, int, int] | None:
        """The unit, start and end of an annotation whose text is ``surface``; None if no unit gives
        this text. Without a surface the offsets are taken as code points.

        >>> TextOffsets("💩 Ana").in_code_points(3, 6, "Ana")
        ('UTF-16 units', 2, 5)
        """
        if surface is None:
            return UNITS[0], start, end
        if 0 <= start <= end and same_text(self._text[start:end], surface):
            return UNITS[0], start, min(end, len(self._text))
        for unit, positions in self._other_units.items():
            if start in positions and end in positions:
                first, last = positions[start], positions[end]
                if first <= last and same_text(self._text[first:last], surface):
                    return unit, first, last
        return None

    @cached_property
    def _other_units(self) -> dict[str, dict[int, int]]:
        return dict(self._candidates())

    def _candidates(self) -> Iterator[tuple[str, dict[int, int]]]:
        if any(ord(character) > 0xFFFF for character in self._text):
            yield UNITS[1], _positions(self._text, utf16=True, crlf_as_one=False)
        if "\r\n" in self._text:
            yield UNITS[2], _positions(self._text, utf16=False, crlf_as_one=True)
            yield UNITS[3], _positions(self._text, utf16=True, crlf_as_one=True)


def same_text(first: str, second: str) -> bool:
    r"""Whether two texts are equal, white space aside: tools write a line break in an annotation as
    a blank or as ``\n`` in letters.

    >>> same_text("New\nYork", "New\\nYork"), same_text("New York", "Newark")
    (True, False)
    """
    return _bare(first) == _bare(second)


def _bare(text: str) -> str:
    return "".join(text.replace("\\n", " ").replace("\\r", " ").replace("\\t", " ").split())


def _positions(text: str, *, utf16: bool, crlf_as_one: bool) -> dict[int, int]:
    """The code point at each offset in another unit."""
    positions: dict[int, int] = {}
    offset = 0
    for position, character in enumerate(text):
        positions.setdefault(offset, position)
        if crlf_as_one and character == "\r" and text[position + 1 : position + 2] == "\n":
            continue
        offset += 2 if utf16 and ord(character) > 0xFFFF else 1
    positions[offset] = len(text)
    return positions
