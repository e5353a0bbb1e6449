"""Decides which line breaks of a text end a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from metacross.text.word_splitting import is_character_script

_BREAK = r"(?:\r\n|[\n\r\x0b\x0c\x85\u2028\u2029])"
_BLANK_LINE = re.compile(rf"{_BREAK}[^\S\n\r\x0b\x0c\x85\u2028\u2029]*{_BREAK}\s*")
_LINE_BREAK = re.compile(rf"{_BREAK}\s*")
_BULLET = re.compile(r"[-–—*•‣▪●○◦·>|+]\s|[•‣▪●○◦]")
_NARROWEST = 40  # columns; text is not wrapped into narrower lines
_WIDEST = 200  # text with wider lines is not wrapped


def segments_of_lines(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that no sentence crosses, as consecutive ranges that cover it.

    A blank line ends a sentence. A single line break does if it is not a wrapped line: the next
    line starts with a bullet, or its first word would have fitted on the line before it. A line
    that starts with a small letter continues a sentence.
    """
    starts = [0] if text else []
    paragraph_start = _first_character(text)
    for blank_line in _BLANK_LINE.finditer(text, paragraph_start):
        starts += _line_starts(text, paragraph_start, blank_line.start())
        paragraph_start = blank_line.end()
        if paragraph_start < len(text):
            starts.append(paragraph_start)
    starts += _line_starts(text, paragraph_start, len(text))
    yield from pairwise([*starts, len(text)])


def _first_character(text: str) -> int:
    return len(text) - len(text.lstrip())


def _line_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Starts of the lines of a paragraph, after its first, at which a new sentence starts."""
    breaks = list(_LINE_BREAK.finditer(text, start, end))
    edges = [start, *(edge for line_break in breaks for edge in line_break.span()), end]
    lines = [text[first:last] for first, last in zip(edges[::2], edges[1::2], strict=True)]
    width = max(_NARROWEST, *map(_columns, lines)) if breaks else 0
    for line_break, (line, next_line) in zip(breaks, pairwise(lines), strict=True):
        if line_break.end() < len(text) and _ends_sentence(line, next_line, width):
            yield line_break.end()


def _ends_sentence(line: str, next_line: str, width: int) -> bool:
    if _BULLET.match(next_line):
        return True
    if not next_line or next_line[0].islower():
        return False
    next_word = next_line[:1] if is_character_script(next_line[0]) else next_line.split()[0]
    return width > _WIDEST or _columns(line) + 1 + _columns(next_word) <= width


def _columns(line: str) -> int:
    """The width of a line; Chinese characters take two columns."""
    return len(line) + sum(map(is_character_script, line))
