"""Shows sentences to the student in other ways than to the teacher, piece tied to piece.

The teacher reads a sentence running or split into words, as corpora are. The student may read it
in capitals or, Chinese, character by character. Every piece it reads is tied to the piece of the
teacher's text that covers its last character, whose state it must reproduce.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from tools.mini_encoder.recipe import ViewSettings

_WORD = re.compile(r"\w+(?:[-'’.]\w+)*[-'’]?|[^\w\s]")
_CHARACTER = re.compile(r"[一-鿿㐀-䶿぀-ヿ]|[A-Za-z0-9À-ɏ]+|[^\s]")
_CAPITAL_WORDS = 0.3  # of a sentence with some words in capitals
_CHARACTERS_A_PIECE = 4  # more are never needed to fill the pieces that are read


@dataclass(frozen=True, slots=True)
class View:
    """Piece ids for the teacher (``plain``) and the student (``shown``); ``aligned`` holds for
    each of the student's the position of the teacher's that it is tied to.
    """

    plain: tuple[int, ...]
    shown: tuple[int, ...]
    aligned: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Showing:
    """Words for the student, where each begins in the teacher's text, and that text.

    Words split off one another stay one string with blanks: the teacher reads them split too.
    """

    words: tuple[str, ...]
    starts: tuple[int, ...]
    plain: str


class Viewer:
    """Draws views of sentences."""

    def __init__(self, tokenizer: Tokenizer, settings: ViewSettings, *, longest: int) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.enable_truncation(longest)
        self._settings = settings
        self._longest = longest

    def views(
        self, texts: Sequence[str], languages: Sequence[str], rng: random.Random
    ) -> list[View]:
        """A view of each text."""
        longest = _CHARACTERS_A_PIECE * self._longest
        showings = [
            shown(text.strip()[:longest], language, self._settings, rng)
            for text, language in zip(texts, languages, strict=True)
        ]
        plain = self._tokenizer.encode_batch([showing.plain for showing in showings])
        words = self._tokenizer.encode_batch(
            [list(showing.words) for showing in showings], is_pretokenized=True
        )
        found = []
        for showing, theirs, own in zip(showings, plain, words, strict=True):
            owners = _owners(theirs.offsets, len(showing.plain))
            aligned = [
                0 if word is None else owners[showing.starts[word] + max(end, 1) - 1]
                for word, (_, end) in zip(own.word_ids, own.offsets, strict=True)
            ]
            aligned[-1] = len(theirs.ids) - 1
            found.append(View(tuple(theirs.ids), tuple(own.ids), tuple(aligned)))
        return found


def shown(text: str, language: str, settings: ViewSettings, rng: random.Random) -> Showing:
    """Draw a way to show a text: one running string, or characters."""
    if language == "zh":
        if rng.random() >= settings.characters:
            return Showing((text,), (0,), text)
        found = list(_CHARACTER.finditer(text))
        words = tuple(match.group() for match in found)
        return Showing(words, tuple(match.start() for match in found), text)
    if rng.random() < settings.split:
        text = " ".join(_WORD.findall(text))
    return Showing((recased(text, settings, rng),), (0,), text)


def recased(text: str, settings: ViewSettings, rng: random.Random) -> str:
    """The text, perhaps with more capitals, always as long as it was."""
    draw = rng.random()
    if draw < settings.all_capitals:
        return _if_as_long(text.upper(), text)
    draw -= settings.all_capitals
    if draw < settings.some_capitals:
        parts = re.split(r"(\s+)", text)
        changed = [part.upper() if rng.random() < _CAPITAL_WORDS else part for part in parts]
        return _if_as_long("".join(changed), text)
    draw -= settings.some_capitals
    if draw < settings.title:
        return _if_as_long(re.sub(r"\b\w", lambda found: found.group().upper(), text), text)
    return text


def _if_as_long(changed: str, text: str) -> str:
    return changed if len(changed) == len(text) else text


def _owners(offsets: Sequence[tuple[int, int]], length: int) -> list[int]:
    """For each character the position of the piece that covers it, 0 where none does."""
    owners = [0] * length
    for position, (start, end) in enumerate(offsets):
        for character in range(start, end):
            owners[character] = position
    return owners
