"""Cuts sentences into windows of subword pieces for an encoder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from metacross.errors import SettingsError
from metacross.text.sentence import Sentence
from metacross.text.single_words import for_single_words, word_mark_ids

IntArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """The ids of the special pieces of a vocabulary.

    ``start`` and ``end`` are the pieces that the encoder reads before and after a sentence. They
    are None if it reads none there, ``mask`` is None if the vocabulary has no such piece.
    """

    start: int | None
    end: int | None
    pad: int
    unknown: int
    mask: int | None

    @property
    def before(self) -> tuple[int, ...]:
        """The pieces before a sentence."""
        return () if self.start is None else (self.start,)

    @property
    def after(self) -> tuple[int, ...]:
        """The pieces after a sentence."""
        return () if self.end is None else (self.end,)


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a sentence that is one input of the encoder.

    Args:
        piece_ids: The special start piece, the pieces of the sentence from ``start`` on, and the
            special end piece; an encoder may have no start or no end piece.
        start: Position of the first piece in the sentence.
        words: For each piece of the sentence, the position of its word in the sentence.
        scored: Positions in ``piece_ids`` of the labeled pieces of the words that this window tags.
        n_before: Number of special pieces before those of the sentence.
    """

    piece_ids: tuple[int, ...]
    start: int
    words: tuple[int, ...]
    scored: tuple[int, ...]
    n_before: int = 1

    def __len__(self) -> int:
        return len(self.piece_ids)

    @property
    def scored_words(self) -> tuple[int, ...]:
        """The words that this window tags."""
        return tuple(self.words[position - self.n_before] for position in self.scored)

    @property
    def text_pieces(self) -> slice:
        """Where the pieces of the sentence are in ``piece_ids``."""
        return slice(self.n_before, self.n_before + len(self.words))


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded windows of some sentences, and the position of each word in them.

    *Shape:* ``piece_ids`` and ``attention`` (windows, pieces); the others (words,), with the words
    in the order of the sentences: the window and the piece that tag the word, and its sentence.
    """

    piece_ids: IntArray
    attention: IntArray
    window_of_word: IntArray
    piece_of_word: IntArray
    sentence_of_word: IntArray
    n_sentences: int


class WindowCutter:
    """Cuts sentences into windows with a tokenizer.

    In the paper a window has at most 128 pieces, including the two special ones. A longer sentence
    continues in a window that begins with the last 64 pieces of the window before.

    The labeled piece of a word is its first piece that holds text. SentencePiece and byte-level
    tokenizers can begin a word with a piece that only marks the word's start, such as ``▁``.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        special: SpecialPieces,
        *,
        max_length: int = 128,
        overlap: int = 64,
    ) -> None:
        n_special = len(special.before) + len(special.after)
        room = max_length - n_special
        if not 0 <= overlap < room:
            raise SettingsError(
                f"expected an overlap from 0 to {room - 1} for windows of {max_length} "
                f"pieces, {n_special} of them special, found {overlap}"
            )
        self.special = special
        self._special_ids = frozenset({special.start, special.end, special.pad, special.mask})
        self._tokenizer = for_single_words(tokenizer)
        self._mark_ids = word_mark_ids(self._tokenizer)
        self._room = room
        self._overlap = overlap

    @property
    def identity(self) -> str:
        """A digest of everything besides the words that the windows depend on."""
        configuration = f"{self.special} {self._room} {self._overlap} {self._tokenizer.to_str()}"
        return hashlib.sha256(configuration.encode()).hexdigest()

    def windows(self, sentences: Sequence[Sentence]) -> list[tuple[Window, ...]]:
        """The windows of each sentence. Every word is tagged by exactly one window."""
        return [
            tuple(self._cut(pieces, words)) for pieces, words in self._pieces_and_words(sentences)
        ]

    def _pieces_and_words(
        self, sentences: Sequence[Sentence]
    ) -> Iterator[tuple[list[int], list[int]]]:
        """The pieces of each sentence, and the word of each piece."""
        encodings = self._tokenizer.encode_batch(
            [list(sentence.words) for sentence in sentences],
            is_pretokenized=True,
            add_special_tokens=False,
        )
        for sentence, encoding in zip(sentences, encodings, strict=True):
            pieces, words = encoding.ids, [word for word in encoding.word_ids if word is not None]
            if not self._special_ids.isdisjoint(pieces):  # a word spelled like a special piece
                unknown = self.special.unknown
                pieces = [unknown if piece in self._special_ids else piece for piece in pieces]
            if len(set(words)) < len(sentence.words) or len(words) < len(pieces):
                yield self._filled(pieces, encoding.word_ids, len(sentence.words))
            else:
                yield pieces, words

    def _filled(
        self, pieces: list[int], words: list[int | None], n_words: int
    ) -> tuple[list[int], list[int]]:
        """Give the unknown piece to words without pieces, such as invisible characters."""
        pieces_of_word: list[list[int]] = [[] for _ in range(n_words)]
        for piece, word in zip(pieces, words, strict=True):
            if word is not None:
                pieces_of_word[word].append(piece)
        filled = [word_pieces or [self.special.unknown] for word_pieces in pieces_of_word]
        return (
            [piece for word_pieces in filled for piece in word_pieces],
            [word for word, word_pieces in enumerate(filled) for _ in word_pieces],
        )

    def _cut(self, pieces: list[int], words: list[int]) -> Iterator[Window]:
        """The windows of a sentence. A word is tagged by the window with most context around it."""
        ranges = _window_ranges(len(pieces), self._room, self._overlap)
        scored_pieces: list[list[int]] = [[] for _ in ranges]
        for piece in self._labeled_pieces(pieces, words):
            scored_pieces[_best_window(piece, ranges, len(pieces))].append(piece)
        before, after = self.special.before, self.special.after
        for (start, end), scored in zip(ranges, scored_pieces, strict=True):
            yield Window(
                piece_ids=(*before, *pieces[start:end], *after),
                start=start,
                words=tuple(words[start:end]),
                scored=tuple(piece - start + len(before) for piece in scored),
                n_before=len(before),
            )

    def _labeled_pieces(self, pieces: list[int], words: list[int]) -> Iterator[int]:
        """The position of each word's first piece that holds text, or of its first piece if all of
        them are marks.
        """
        for first, word in enumerate(words):
            if first and words[first - 1] == word:
                continue
            labeled = first
            if pieces[first] in self._mark_ids:
                while labeled < len(words) and words[labeled] == word:
                    if pieces[labeled] not in self._mark_ids:
                        break
                    labeled += 1
                else:
                    labeled = first
            yield labeled


def _window_ranges(n_pieces: int, room: int, overlap: int) -> list[tuple[int, int]]:
    ranges = [(0, min(room, n_pieces))]
    while ranges[-1][1] < n_pieces:
        start = ranges[-1][1] - overlap
        ranges.append((start, min(start + room, n_pieces)))
    return ranges


def _best_window(piece: int, ranges: Sequence[tuple[int, int]], n_pieces: int) -> int:
    """The window with most context on the shorter side of a piece; of equals, the first.

    Where a window starts or ends with the sentence, the context on that side is complete.
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
    """Make a batch of the windows of some sentences, padded to the longest window."""
    flat = [window for sentence_windows in windows for window in sentence_windows]
    longest = max(len(window) for window in flat)
    piece_ids = np.full((len(flat), longest), pad, dtype=np.int64)  # (windows, pieces)
    attention = np.zeros((len(flat), longest), dtype=np.int64)  # (windows, pieces)
    places: list[tuple[int, int, int, int]] = []
    row = 0
    for sentence, sentence_windows in enumerate(windows):
        for window in sentence_windows:
            piece_ids[row, : len(window)] = window.piece_ids
            attention[row, : len(window)] = 1
            scored = zip(window.scored_words, window.scored, strict=True)
            places.extend((sentence, word, row, piece) for word, piece in scored)
            row += 1
    places.sort()
    columns = np.array(places, dtype=np.int64).T  # (4, words)
    return Batch(piece_ids, attention, columns[2], columns[3], columns[0], len(windows))
