"""Finds the words of Chinese text: those of jieba, cut and joined where names need it."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from types import ModuleType

NAME_DOTS = "·‧・•"  # between the parts of a foreign name
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # to ASCII, one to one
# Characters that jieba's model of unknown words often takes for a part of a name.
_BEFORE_NAMES = frozenset("而由因对至为在与和及年月日")
_AFTER_NAMES = frozenset("于在为和是等及与说称任从后")
_NAMES = ("nr", "ns")  # jieba's tags of persons and places
_OTHER_NAMES = ("nt", "nz")  # of organizations and other names
_PEOPLE = "人"  # of a place: 法国人


class ChineseSegmenter:
    """Jieba's dictionary and hidden Markov model, compiled: it writes no files and no log.

    Its words are changed where they would hide the edge of a name: 邓小平理论 is a person and a
    word, 张煜全为 is no person, and 安迪·葛鲁夫 is one.
    """

    def __init__(self, jieba: ModuleType) -> None:
        self._jieba = jieba
        self._parts = lru_cache(maxsize=100_000)(self._parts_of)

    def __call__(self, text: str) -> list[str]:
        """The words of a text without spaces."""
        plain = text.translate(_FULL_WIDTH)  # jieba reads full-width digits one by one
        words = [part for word in self._jieba.cut(plain) for part in self._parts(word)]
        ends, position = [0], 0
        for word, next_word in pairwise([*words, ""]):
            position += len(word)
            if not (word[-1] in NAME_DOTS or next_word[:1] in tuple(NAME_DOTS)):
                ends.append(position)
        if ends[-1] < len(text):
            ends.append(len(text))
        return [text[start:end] for start, end in pairwise(ends)]

    def _parts_of(self, word: str) -> tuple[str, ...]:
        if len(word) < 3:
            return (word,)
        return self._name_and_rest(word) if self._is_known(word) else _without_particles(word)

    def _name_and_rest(self, word: str) -> tuple[str, ...]:
        """A known word, cut after the person or place that it begins with."""
        if self._tag(word) in ("ns", *_OTHER_NAMES):
            return (word,)
        for end in range(len(word) - 1, 1, -1):
            if self._tag(word[:end]) in _NAMES and self._is_common(word[end:]):
                return word[:end], word[end:]
        return (word,)

    def _is_common(self, word: str) -> bool:
        """Whether a word is a noun or verb and no name."""
        tag = self._tag(word) if len(word) > 1 else ""
        return word == _PEOPLE or (tag[:1] in ("n", "v") and tag not in (*_NAMES, *_OTHER_NAMES))

    def _tag(self, word: str) -> str:
        """The first two letters of a known word's tag; empty for other words."""
        if not self._is_known(word):
            return ""
        tagged: list[tuple[str, str]] = self._jieba.tag(word, hmm=False)
        return tagged[0][1][:2] if len(tagged) == 1 else ""

    def _is_known(self, word: str) -> bool:
        known: bool = self._jieba.has_word(word)
        return known


def _without_particles(word: str) -> tuple[str, ...]:
    """A word that is not in the dictionary, cut after and before a particle at its ends.

    >>> _without_particles("张煜全为"), _without_particles("由梅塔省")
    (('张煜全', '为'), ('由', '梅塔省'))
    """
    start, end = 0, len(word)
    if word[-1] in _AFTER_NAMES:
        end -= 1
    if end > 2 and word[0] in _BEFORE_NAMES:
        start = 1
    return tuple(part for part in (word[:start], word[start:end], word[end:]) if part)
