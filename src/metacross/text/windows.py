"""Cuts sentences into the pieces and windows that an encoder reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from metacross.errors import SettingsError
from metacross.text.sentence import Sentence

IntArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """The pieces of a vocabulary that stand for no text."""

    start: int
    end: int
    pad: int
    unknown: int
    mask: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a sentence that an encoder reads at once.

    ``piece_ids`` begin and end with the special pieces; the pieces between them are those of the
    sentence from ``start`` on, and ``words`` holds the position in the sentence of the word of
    each. ``scored`` holds the positions in ``piece_ids`` of the first pieces of the words whose
    tags are read off this window.
    """

    piece_ids: tuple[int, ...]
    start: int
    words: tuple[int, ...]
    scored: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.piece_ids)

    @property
    def scored_words(self) -> tuple[int, ...]:
        """The words whose tags are read off this window."""
        return tuple(self.words[position - 1] for position in self.scored)


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows padded to the longest of them, and where to find each word of their sentences.

    *Shape:* ``piece_ids`` and ``attention`` (windows, pieces); the others (words,), with the words
    in the order of the sentences: the window and the piece a word's tag is read off, and its
    sentence.
    """

    piece_ids: IntArray
    attention: IntArray
    window_of_word: IntArray
    piece_of_word: IntArray
    sentence_of_word: IntArray
    n_sentences: int


class WindowCutter:
    """Turns sentences into windows with a given tokenizer.

    The paper reads at most 128 pieces at once; a longer sentence goes on in a window that begins
    with the last 64 pieces of the one before.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        special: SpecialPieces,
        *,
        longest: int = 128,
        overlap: int = 64,
    ) -> None:
        if not 0 <= overlap < longest - 2:
            raise SettingsError(
                f"windows of {longest} pieces, two of them special, need an overlap of 0 to "
                f"{longest - 3}, found {overlap}"
            )
        self.special = special
        self._not_text = frozenset({special.start, special.end, special.pad, special.mask})
        self._tokenizer = for_single_words(tokenizer)
        self._room = longest - 2
        self._overlap = overlap

    @property
    def identity(self) -> str:
        """A digest of all that the windows depend on besides the words."""
        plan = f"{self.special} {self._room} {self._overlap} {self._tokenizer.to_str()}"
        return hashlib.sha256(plan.encode()).hexdigest()

    def windows(self, sentences: Sequence[Sentence]) -> list[tuple[Window, ...]]:
        """The windows of each sentence; every word is scored in exactly one."""
        return [
            tuple(self._cut(pieces, words)) for pieces, words in self._pieces_and_words(sentences)
        ]

    def _pieces_and_words(
        self, sentences: Sequence[Sentence]
    ) -> Iterator[tuple[list[int], list[int]]]:
        """The pieces of each sentence, and for each piece its word."""
        encodings = self._tokenizer.encode_batch(
            [list(sentence.words) for sentence in sentences],
            is_pretokenized=True,
            add_special_tokens=False,
        )
        for sentence, encoding in zip(sentences, encodings, strict=True):
            pieces, words = encoding.ids, [word for word in encoding.word_ids if word is not None]
            if not self._not_text.isdisjoint(pieces):  # what looks like a special piece is text
                unknown = self.special.unknown
                pieces = [unknown if piece in self._not_text else piece for piece in pieces]
            if len(set(words)) < len(sentence.words) or len(words) < len(pieces):
                yield self._filled(pieces, encoding.word_ids, len(sentence.words))
            else:
                yield pieces, words

    def _filled(
        self, pieces: list[int], words: list[int | None], n_words: int
    ) -> tuple[list[int], list[int]]:
        """Give the unknown piece to words that have none, as invisible characters do."""
        pieces_of_word: list[list[int]] = [[] for _ in range(n_words)]
        for piece, word in zip(pieces, words, strict=True):
            if word is not None:
                pieces_of_word[word].append(piece)
        filled = [own or [self.special.unknown] for own in pieces_of_word]
        return (
            [piece for own in filled for piece in own],
            [word for word, own in enumerate(filled) for _ in own],
        )

    def _cut(self, pieces: list[int], words: list[int]) -> Iterator[Window]:
        """One sentence's windows; a word is scored where most pieces stand around its first."""
        firsts = [i for i, word in enumerate(words) if i == 0 or words[i - 1] != word]
        ranges = _window_ranges(len(pieces), self._room, self._overlap)
        scored_in: list[list[int]] = [[] for _ in ranges]
        for first in firsts:
            scored_in[_best_window(first, ranges, len(pieces))].append(first)
        for (start, end), scored in zip(ranges, scored_in, strict=True):
            yield Window(
                piece_ids=(self.special.start, *pieces[start:end], self.special.end),
                start=start,
                words=tuple(words[start:end]),
                scored=tuple(first - start + 1 for first in scored),
            )


def _window_ranges(n_pieces: int, room: int, overlap: int) -> list[tuple[int, int]]:
    ranges = [(0, min(room, n_pieces))]
    while ranges[-1][1] < n_pieces:
        start = ranges[-1][1] - overlap
        ranges.append((start, min(start + room, n_pieces)))
    return ranges


def _best_window(piece: int, ranges: Sequence[tuple[int, int]], n_pieces: int) -> int:
    """The window with most pieces on the poorer side of a piece; the first of equals.

    Where a window ends with the sentence, nothing is missing on that side.
    """

    def context(window: tuple[int, int]) -> int:
        start, end = window
        if not start <= piece < end:
            return -1
        left = piece - start if start > 0 else n_pieces
        right = end - 1 - piece if end < n_pieces else n_pieces
        return min(left, right)

    return max(range(len(ranges)), key=lambda i: context(ranges[i]))


def batch_of(windows: Sequence[Sequence[Window]], pad: int) -> Batch:
    """Pad the windows of some sentences to the longest of them."""
    flat = [window for own in windows for window in own]
    longest = max(len(window) for window in flat)
    piece_ids = np.full((len(flat), longest), pad, dtype=np.int64)  # (windows, pieces)
    attention = np.zeros((len(flat), longest), dtype=np.int64)  # (windows, pieces)
    places: list[tuple[int, int, int, int]] = []
    row = 0
    for sentence, own in enumerate(windows):
        for window in own:
            piece_ids[row, : len(window)] = window.piece_ids
            attention[row, : len(window)] = 1
            scored = zip(window.scored_words, window.scored, strict=True)
            places.extend((sentence, word, row, piece) for word, piece in scored)
            row += 1
    places.sort()
    columns = np.array(places, dtype=np.int64).T  # (4, words)
    return Batch(piece_ids, attention, columns[2], columns[3], columns[0], len(windows))


def for_single_words(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that treats every word alike wherever it stands, and never cuts or pads.

    Byte-level tokenizers and some SentencePiece ones mark a word only behind a blank, which
    single words do not have.
    """
    plan = json.loads(tokenizer.to_str())
    plan["truncation"] = plan["padding"] = None
    _mark_every_word(plan.get("pre_tokenizer"))
    copy = Tokenizer.from_str(json.dumps(plan))
    copy.encode_special_tokens = True
    return copy


def _mark_every_word(pre_tokenizer: Any) -> None:  # noqa: ANN401 - JSON
    if pre_tokenizer is None:
        return
    if pre_tokenizer["type"] == "Sequence":
        for inner in pre_tokenizer["pretokenizers"]:
            _mark_every_word(inner)
    elif pre_tokenizer["type"] == "ByteLevel":
        pre_tokenizer["add_prefix_space"] = True
    elif pre_tokenizer["type"] == "Metaspace":
        pre_tokenizer["prepend_scheme"] = "always"
