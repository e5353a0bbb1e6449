"""Augments sentences for the student, with an alignment to what the teacher reads.

The teacher reads a sentence as running text or split into words. The student may read the same
sentence in capitals or, in Chinese, character by character. Each of its pieces is aligned with the
teacher's piece that covers the same last character, whose state it learns to reproduce.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Encoding, Tokenizer

from tools.mini_encoder.settings import AugmentationSettings

_WORD = re.compile(r"\w+(?:[-'’.]\w+)*[-'’]?|[^\w\s]")
_CHARACTER = re.compile(r"[一-鿿㐀-䶿぀-ヿ]|[A-Za-z0-9À-ɏ]+|[^\s]")
_CAPITAL_WORDS = 0.3  # probability of a word, in a sentence with some words in capitals
_CHARACTERS_PER_PIECE = 4  # upper bound, to cut long texts before they are tokenized


@dataclass(frozen=True, slots=True)
class AlignedPieces:
    """Piece ids of the teacher's text (``plain``) and of the student's text (``augmented``).

    ``alignment`` holds for each piece of the student a position in ``plain``.
    """

    plain: tuple[int, ...]
    augmented: tuple[int, ...]
    alignment: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AugmentedText:
    """The teacher's text, and the student's words with their start offsets in it.

    Text that is not read character by character is one "word" with spaces inside.
    """

    plain: str
    words: tuple[str, ...]
    word_starts: tuple[int, ...]


class Augmenter:
    """Augments and tokenizes sentences."""

    def __init__(
        self, tokenizer: Tokenizer, settings: AugmentationSettings, *, max_length: int
    ) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.enable_truncation(max_length)
        self._settings = settings
        self._max_characters = _CHARACTERS_PER_PIECE * max_length

    def aligned_pieces(
        self, texts: Sequence[str], languages: Sequence[str], rng: random.Random
    ) -> list[AlignedPieces]:
        """One random augmentation of each text."""
        augmented_texts = [
            augmented(text.strip()[: self._max_characters], language, self._settings, rng)
            for text, language in zip(texts, languages, strict=True)
        ]
        plain_encodings = self._tokenizer.encode_batch([text.plain for text in augmented_texts])
        word_encodings = self._tokenizer.encode_batch(
            [list(text.words) for text in augmented_texts], is_pretokenized=True
        )
        return [
            _aligned(text, plain, words)
            for text, plain, words in zip(
                augmented_texts, plain_encodings, word_encodings, strict=True
            )
        ]


def augmented(
    text: str, language: str, settings: AugmentationSettings, rng: random.Random
) -> AugmentedText:
    """A random augmentation: characters in Chinese; splitting and capitals in other languages."""
    if language == "zh":
        if rng.random() >= settings.characters:
            return AugmentedText(text, (text,), (0,))
        matches = list(_CHARACTER.finditer(text))
        words = tuple(match.group() for match in matches)
        return AugmentedText(text, words, tuple(match.start() for match in matches))
    if rng.random() < settings.split:
        text = " ".join(_WORD.findall(text))
    return AugmentedText(text, (recased(text, settings, rng),), (0,))


def recased(text: str, settings: AugmentationSettings, rng: random.Random) -> str:
    """The text, sometimes with more capitals; its length never changes."""
    draw = rng.random()
    if draw < settings.all_capitals:
        return _same_length(text.upper(), text)
    draw -= settings.all_capitals
    if draw < settings.some_capitals:
        parts = re.split(r"(\s+)", text)
        changed = [part.upper() if rng.random() < _CAPITAL_WORDS else part for part in parts]
        return _same_length("".join(changed), text)
    draw -= settings.some_capitals
    if draw < settings.title:
        return _same_length(re.sub(r"\b\w", lambda match: match.group().upper(), text), text)
    return text


def _same_length(changed: str, text: str) -> str:
    """The changed text, or the original where upper case has more letters (``ß``, ``SS``)."""
    return changed if len(changed) == len(text) else text


def _aligned(text: AugmentedText, plain: Encoding, words: Encoding) -> AlignedPieces:
    piece_of_character = _piece_of_character(plain.offsets, len(text.plain))
    alignment = [
        0 if word is None else piece_of_character[text.word_starts[word] + max(end, 1) - 1]
        for word, (_, end) in zip(words.word_ids, words.offsets, strict=True)
    ]
    alignment[-1] = len(plain.ids) - 1  # [SEP]
    return AlignedPieces(tuple(plain.ids), tuple(words.ids), tuple(alignment))


def _piece_of_character(offsets: Sequence[tuple[int, int]], length: int) -> list[int]:
    """For each character the position of the piece that covers it; 0 where none does."""
    pieces = [0] * length
    for position, (start, end) in enumerate(offsets):
        for character in range(start, end):
            pieces[character] = position
    return pieces
