"""Finds the script of a text: Latin, Cyrillic, Arabic, Han and others."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_NAMES = {"CJK": "Han", "IDEOGRAPHIC": "Han", "HALFWIDTH": "Katakana", "FULLWIDTH": "Latin"}


@dataclass(frozen=True, slots=True)
class ScriptShare:
    """The most frequent script of a text, and the fraction of its letters in this script."""

    name: str
    share: float


def main_script(words: Iterable[str]) -> ScriptShare | None:
    """The script that most letters have; None if there are no letters.

    >>> main_script(["Ана", "в", "Berlin", "е", "днес", "тук"])
    ScriptShare(name='Cyrillic', share=0.6666666666666666)
    >>> main_script(["2026", "!"]) is None
    True
    """
    letters = Counter(character for word in words for character in word)
    counts: Counter[str] = Counter()
    for character, n_occurrences in letters.items():
        script = script_of(character)
        if script is not None:
            counts[script] += n_occurrences
    if not counts:
        return None
    (name, n_letters), *_ = counts.most_common(1)
    return ScriptShare(name, n_letters / counts.total())


@lru_cache(maxsize=65_536)
def script_of(character: str) -> str | None:
    """The script of a letter, by the first word of its Unicode name; None if it is no letter.

    >>> script_of("ß"), script_of("ж"), script_of("李"), script_of("ه"), script_of("7")
    ('Latin', 'Cyrillic', 'Han', 'Arabic', None)
    """
    if not character.isalpha():
        return None
    first = unicodedata.name(character, "UNKNOWN").partition(" ")[0].partition("-")[0]
    return _NAMES.get(first, first.capitalize())
