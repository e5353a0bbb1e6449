"""Splits running text into words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from metacross.text.language_codes import primary_language
from metacross.text.scripts import Script, extends_character, script_of
from metacross.text.sentence import Layout

_EMOJI = (
    r"[©®‼⁉™ℹ\u2190-\u2bff〰〽㊗㊙\U0001F000-\U0001FAFF]"
    r"[\ufe0f\U0001F3FB-\U0001F3FF]*"
)
_UNSPLIT = re.compile(
    r"https?://[^\s<>\"]*[\w/]"  # URLs
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # e-mail addresses
    r"|\d+(?:[.,:/]\d+)+"  # 1,000.50  20:15  3/4
    r"|(?:[^\W\d_]\.){2,}"  # U.S.
    r"|[\U0001F1E6-\U0001F1FF]{2}"  # flags
    r"|[0-9#*]\ufe0f?\u20e3"  # keys
    rf"|{_EMOJI}(?:\u200d{_EMOJI})*"  # emoji with skin tones, or joined to one
)
_JOINERS = frozenset("-'’‐‑·_")  # part of a word between two letters
_APOSTROPHES = "'’"
# Languages in which an apostrophe ends a word: l' Union. In English it starts one: bank 's.
_ELIDING_LANGUAGES = frozenset({"fr", "it", "ca", "oc"})
_NO_ELISION = re.compile(r"(?<=aujourd)['’](?=hui)", re.IGNORECASE)
_ENGLISH_CLITIC = re.compile(rf"(?:n[{_APOSTROPHES}]t|[{_APOSTROPHES}](?:s|re|ve|ll|d|m))$", re.I)


def split_text(text: str, language: str | None = None) -> Layout:
    """Split a text into words and punctuation marks.

    Every Han, Kana or Thai character is a word here, with the marks on it: a model groups them into
    words itself (:mod:`metacross.text.word_grouping`). ``language`` decides how words with an
    apostrophe are split (English, French, Italian, Catalan, Occitan).

    >>> layout = split_text("L'ONU, à New York.", language="fr")
    >>> [layout.text[start:end] for start, end in layout.offsets]
    ["L'", 'ONU', ',', 'à', 'New', 'York', '.']
    """
    return Layout(text, tuple(_offsets(text, primary_language(language))))


def is_character_script(character: str) -> bool:
    """Whether a character is Han or Kana."""
    return script_of(character) is Script.EAST_ASIAN


def _offsets(text: str, language: str | None) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(text):
        character = text[position]
        if character.isspace():
            position += 1
            continue
        unsplit = _UNSPLIT.match(text, position)
        if unsplit:
            yield position, unsplit.end()
            position = unsplit.end()
        elif script_of(character) is not None:
            end = _end_of_character(text, position)
            yield position, end
            position = end
        elif not _is_word_character(character):
            yield position, position + 1
            position += 1
        else:
            end = _end_of_word(text, position)
            yield from _split_at_apostrophes(text, position, end, language)
            position = end


def _is_word_character(character: str) -> bool:
    """Letters, marks, digits and control characters; not punctuation, symbols or white space. What
    follows the end of a text is ``""``.
    """
    if not character or character.isspace():  # line breaks and tabs are control characters too
        return False
    return unicodedata.category(character)[0] in "LMNC" and script_of(character) is None


def _end_of_character(text: str, start: int) -> int:
    """The end of a character with the marks on it."""
    end = start + 1
    while end < len(text) and extends_character(text[end]):
        end += 1
    return end


def _end_of_word(text: str, start: int) -> int:
    end = start + 1
    while end < len(text):
        joins = text[end] in _JOINERS and _is_word_character(text[end + 1 : end + 2])
        if not joins and not _is_word_character(text[end]):
            break
        end += 1
    return end


def _split_at_apostrophes(
    text: str, start: int, end: int, language: str | None
) -> Iterator[tuple[int, int]]:
    word = text[start:end]
    if language == "en":
        clitic = _ENGLISH_CLITIC.search(word)
        if clitic and clitic.start() > 0:
            yield start, start + clitic.start()
            start += clitic.start()
    elif language in _ELIDING_LANGUAGES:
        word_start = start
        for i, character in enumerate(word[:-1]):
            if character in _APOSTROPHES and not _NO_ELISION.match(word, i):
                yield start, word_start + i + 1
                start = word_start + i + 1
    yield start, end
