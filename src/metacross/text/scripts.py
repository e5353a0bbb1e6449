"""Tells which scripts are written without spaces between words."""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import cache


class Script(Enum):
    """A script that is written without spaces, and for which there are segmenters."""

    EAST_ASIAN = "Han and Kana"
    THAI = "Thai"


_EAST_ASIAN = (
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3021, 0x3029),
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # more Kana
    (0x20000, 0x323AF),
)
_THAI = ((0x0E01, 0x0E3A), (0x0E40, 0x0E5B))
_VOICING_MARKS = "\uff9e\uff9f"  # half-width: a character of their own after a Kana
_SARA_AM = "\u0e33"  # a Thai vowel that is drawn on the consonant before it


def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_ANY_UNSPACED = re.compile(f"[{_class(_EAST_ASIAN)}{_class(_THAI)}]")
_KANA = re.compile(
    "[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff\uff66-\uff9d]"
)


@cache
def script_of(character: str) -> Script | None:
    """The script of a character; None if the script is written with spaces.

    >>> script_of("語"), script_of("ก"), script_of("a")
    (<Script.EAST_ASIAN: 'Han and Kana'>, <Script.THAI: 'Thai'>, None)
    """
    code = ord(character)
    if code < 0x0E00:
        return None
    if any(first <= code <= last for first, last in _THAI):
        return Script.THAI
    return Script.EAST_ASIAN if any(a <= code <= b for a, b in _EAST_ASIAN) else None


@cache
def extends_character(character: str) -> bool:
    """Whether a character is written on the one before it and is never a word of its own: combining
    marks, variation selectors, half-width voicing marks.
    """
    return (
        character in _VOICING_MARKS
        or character == _SARA_AM
        or unicodedata.category(character).startswith("M")
    )


def has_unspaced_script(text: str) -> bool:
    """Whether any character belongs to a script without spaces."""
    return _ANY_UNSPACED.search(text) is not None


def has_kana(text: str) -> bool:
    """Whether a text has a Hiragana or Katakana letter, which only Japanese uses."""
    return _KANA.search(text) is not None
