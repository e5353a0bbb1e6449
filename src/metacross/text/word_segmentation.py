"""Segmenters: they find the words of Chinese, Japanese and Thai text."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from metacross.errors import SettingsError
from metacross.text.chinese_words import ChineseSegmenter

Segmenter: TypeAlias = Callable[[str], list[str]]
"""Cuts a text without spaces into its words; joined, they are the text."""

_LONGEST_TEXT = 4_000  # characters: some libraries refuse long texts


@dataclass(frozen=True, slots=True)
class Library:
    """What segments a language: ``install`` is what pip installs, ``module`` what is imported."""

    title: str
    module: str
    install: str
    load: Callable[[], Segmenter]

    @property
    def installed(self) -> bool:
        """Whether it can be imported."""
        return importlib.util.find_spec(self.module) is not None

    @property
    def missing(self) -> str:
        """Says that it is not installed, and how to install it."""
        return f"{self.title} is not installed: pip install '{self.install}'"


def _chinese() -> Segmenter:
    import rjieba

    return ChineseSegmenter(rjieba)


def _japanese() -> Segmenter:
    """Sudachi's short units: no name is joined with the word before or after it."""
    from sudachipy import Dictionary, SplitMode

    tokenizer = Dictionary(dict="small").tokenizer(mode=SplitMode.A)

    def segment(text: str) -> list[str]:
        return [text[morpheme.begin() : morpheme.end()] for morpheme in tokenizer.tokenize(text)]

    return segment


def _thai() -> Segmenter:
    """Longest dictionary words that do not break character clusters (newmm)."""
    from pythainlp.tokenize.newmm import segment as newmm

    def segment(text: str) -> list[str]:
        words: list[str] = newmm(text, safe_mode=True)
        return words

    return segment


LIBRARIES = {
    "zh": Library("The Chinese segmenter (rjieba)", "rjieba", "rjieba", _chinese),
    "ja": Library("The Japanese segmenter (SudachiPy)", "sudachipy", "metacross[ja]", _japanese),
    "th": Library("The Thai segmenter (PyThaiNLP)", "pythainlp", "metacross[th]", _thai),
}
"""The libraries by language."""


@cache
def segmenter(language: str) -> Segmenter:
    """The segmenter of a language of :data:`LIBRARIES`.

    >>> segmenter("zh")("李明在柏林工作")
    ['李明', '在', '柏林', '工作']
    """
    library = LIBRARIES[language]
    if not library.installed:
        raise SettingsError(library.missing)
    return library.load()


def word_ends(text: str, language: str) -> set[int]:
    """Where words end in a text without spaces, the end of the text included.

    >>> sorted(word_ends("李明在柏林工作", "zh"))
    [2, 3, 5, 7]
    """
    ends = {len(text)}
    segment = segmenter(language)
    for start in range(0, len(text), _LONGEST_TEXT):
        position = start
        for word in segment(text[start : start + _LONGEST_TEXT]):
            position += len(word)
            ends.add(position)
    return {end for end in ends if 0 < end <= len(text)}
