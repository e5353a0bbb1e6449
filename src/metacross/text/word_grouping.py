"""Groups the units of a sentence into the words that a model reads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Literal, TypeAlias

from metacross.errors import SettingsError
from metacross.text.chinese_words import NAME_DOTS
from metacross.text.language_codes import primary_language
from metacross.text.scripts import (
    Script,
    extends_character,
    has_kana,
    has_unspaced_script,
    script_of,
)
from metacross.text.sentence import Sentence, Span
from metacross.text.word_segmentation import LIBRARIES, word_ends

_NAME_DOTS = frozenset(NAME_DOTS)
WordMode: TypeAlias = Literal["auto", "segmented", "given"]
WordEnds: TypeAlias = Callable[[str, str], Collection[int]]


class MissingSegmenterWarning(UserWarning):
    """The words of a language cannot be found, because a library is not installed."""


@dataclass(frozen=True, slots=True)
class WordGroups:
    """Which units of a sentence make up each word: ``ends`` holds, for each word, the position
    after its last unit.

    >>> groups = WordGroups((2, 3, 5))
    >>> groups.ranges
    ((0, 2), (2, 3), (3, 5))
    >>> groups.on_units((Span(1, 3, "LOC"),))
    (Span(start=2, end=5, label='LOC'),)
    """

    ends: tuple[int, ...]

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The units of each word, half-open."""
        return tuple(zip((0, *self.ends), self.ends, strict=False))

    @property
    def word_of_unit(self) -> tuple[int, ...]:
        """For each unit, the position of its word."""
        return tuple(
            word for word, (start, end) in enumerate(self.ranges) for _ in range(start, end)
        )

    def cut_at(self, spans: Sequence[Span]) -> WordGroups:
        """The groups, cut where an entity starts or ends within a word."""
        edges = {edge for span in spans for edge in (span.start, span.end) if edge > 0}
        return WordGroups(tuple(sorted({*self.ends, *edges})))

    def on_units(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Spans of words as spans of units."""
        ranges = self.ranges
        return tuple(
            replace(span, start=ranges[span.start][0], end=ranges[span.end - 1][1])
            for span in spans
        )

    def on_words(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Spans of units as spans of words; each must start and end at the edge of a word."""
        word_at = {start: word for word, (start, _) in enumerate(self.ranges)}
        word_at[self.ends[-1]] = len(self.ends)
        return tuple(
            replace(span, start=word_at[span.start], end=word_at[span.end]) for span in spans
        )

    def grouped(self, sentence: Sentence) -> Sentence:
        """A sentence of the words, with its entities, which must not cut a word."""
        words = tuple("".join(sentence.words[start:end]) for start, end in self.ranges)
        spans = None if sentence.spans is None else self.on_words(sentence.spans)
        return Sentence(words, spans, sentence.language, sentence.origin)


class WordGrouper:
    """Finds the words of sentences that are given in the characters of a script without spaces.

    ``auto`` leaves the characters of a language as they are if its library is not installed, with
    a warning; ``segmented`` refuses them; ``given`` leaves all units as they are. ``word_ends``
    finds where words end in a run of a language.
    """

    def __init__(self, mode: WordMode, word_ends: WordEnds = word_ends) -> None:
        self.mode = mode
        self._word_ends = word_ends

    def groups(self, sentence: Sentence) -> WordGroups | None:
        """The words of a sentence; None if each unit is a word.

        A unit is never split. Units are grouped only within a run of one script, and not at all if
        a unit has several characters of it: then the sentence is given in words.
        """
        if self.mode == "given" or not has_unspaced_script("".join(sentence.words)):
            return None
        joined: set[int] = set()  # units that continue the word of the unit before
        for script, start, end in _runs(sentence):
            language = segmentation_language(script, sentence)
            if end - start > 1 and self._can_segment(language):
                joined |= self._joined_units(sentence.words[start:end], start, language)
        n_units = len(sentence.words)
        return (
            WordGroups(tuple(e for e in range(1, n_units + 1) if e not in joined))
            if joined
            else None
        )

    def _joined_units(self, units: Sequence[str], start: int, language: str) -> set[int]:
        """Those units of a run that continue a word; ``start`` is the position of the first."""
        ends = self._word_ends("".join(units), language)
        offsets = accumulate(map(len, units[:-1]))
        return {unit for unit, offset in enumerate(offsets, start + 1) if offset not in ends}

    def _can_segment(self, language: str) -> bool:
        library = LIBRARIES[language]
        if library.installed:
            return True
        if self.mode == "segmented":
            raise SettingsError(library.missing)
        _warn_once(language)
        return False


def segmentation_language(script: Script, sentence: Sentence) -> str:
    """Whose words a run of a script has. Han is Japanese in a Japanese sentence, and in a sentence
    with Kana that is not said to be Chinese.
    """
    if script is Script.THAI:
        return "th"
    language = primary_language(sentence.language)
    if language in ("ja", "zh"):
        return language
    return "ja" if has_kana("".join(sentence.words)) else "zh"


@cache
def _warn_once(language: str) -> None:
    warnings.warn(
        f"{LIBRARIES[language].missing}; until then every character is read as a word",
        MissingSegmenterWarning,
        stacklevel=2,
    )


def _runs(sentence: Sentence) -> Iterator[tuple[Script, int, int]]:
    """Maximal ranges of adjacent units of one script; none if the sentence is given in words.

    The dot within a foreign name belongs to an East Asian run. If all units are characters, letters
    and digits of other scripts do too: a corpus in characters has them one by one.
    """
    lengths = [_n_characters(unit) for unit in sentence.words]
    scripts = [_script_of_unit(unit) for unit in sentence.words]
    for i in range(1, len(scripts) - 1):
        if (
            sentence.words[i] in _NAME_DOTS
            and scripts[i - 1] is scripts[i + 1] is Script.EAST_ASIAN
        ):
            scripts[i] = Script.EAST_ASIAN
    if any(n > 1 and script for n, script in zip(lengths, scripts, strict=True)):
        return
    if max(lengths) == 1 and Script.EAST_ASIAN in scripts:
        scripts = [
            Script.EAST_ASIAN if script is None and unit.isalnum() else script
            for unit, script in zip(sentence.words, scripts, strict=True)
        ]
    start = 0
    for end in range(1, len(scripts) + 1):
        if end == len(scripts) or scripts[end] != scripts[start] or _is_gap(sentence, end):
            script = scripts[start]
            if script is not None:
                yield script, start, end
            start = end


def _is_gap(sentence: Sentence, unit: int) -> bool:
    """Whether there is space before a unit in the text that the sentence was split from."""
    layout = sentence.layout
    return layout is not None and layout.offsets[unit - 1][1] < layout.offsets[unit][0]


def _script_of_unit(unit: str) -> Script | None:
    """The script that all characters of a unit have in common, marks aside."""
    scripts = {script_of(c) for c in unit if script_of(c) or not extends_character(c)}
    return scripts.pop() if len(scripts) == 1 else None


def _n_characters(unit: str) -> int:
    return sum(not extends_character(character) for character in unit)
