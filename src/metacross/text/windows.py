"""Cuts sentences into windows of subword pieces for an encoder."""

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
    """The ids of the special pieces of a vocabulary. ``mask`` is None if there is none."""

    start: int
    end: int
    pad: int
    unknown: int
    mask: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a sentence that is one input of the encoder.

    Args:
        piece_ids: The special start piece, the pieces of the sentence from ``start`` on, and the
            special end piece.
        start: Position of the first piece in the sentence.
        words: For each piece of the sentence, the position of its word in the sentence.
        scored: Positions in ``piece_ids`` of the first pieces of the words that this window tags.
    """

    piece_ids: tuple[int, ...]
    start: int
    words: tuple[int, ...]
    scored: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.piece_ids)

    @property
    def scored_words(self) -> tuple[int, ...]:
        """The words that this window tags."""
        return tuple(self.words[position - 1] for position in self.scored)


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
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        special: SpecialPieces,
        *,
        max_length: int = 128,
        overlap: int = 64,
    ) -> None:
        if not 0 <= overlap < max_length - 2:
            raise SettingsError(
                f"expected an overlap from 0 to {max_length - 3} for windows of {max_length} "
                f"pieces, two of them special, found {overlap}"
            )
        self.special = special
        self._special_ids = frozenset({special.start, special.end, special.pad, special.mask})
        self._tokenizer = for_single_words(tokenizer)
        self._room = max_length - 2
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
        first_pieces = [i for i, word in enumerate(words) if i == 0 or words[i - 1] != word]
        ranges = _window_ranges(len(pieces), self._room, self._overlap)
        scored_pieces: list[list[int]] = [[] for _ in ranges]
        for first_piece in first_pieces:
            scored_pieces[_best_window(first_piece, ranges, len(pieces))].append(first_piece)
        for (start, end), scored in zip(ranges, scored_pieces, strict=True):
            yield Window(
                piece_ids=(self.special.start, *pieces[start:end], self.special.end),
                start=start,
                words=tuple(words[start:end]),
                scored=tuple(first_piece - start + 1 for first_piece in scored),
            )


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


def for_single_words(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that gives a word the same pieces at every position, and never truncates or pads.

    Byte-level tokenizers and some SentencePiece ones mark the start of a word only after a space,
    which single words do not have.
    """
    configuration = json.loads(tokenizer.to_str())
    configuration["truncation"] = configuration["padding"] = None
    _mark_every_word(configuration.get("pre_tokenizer"))
    copy = Tokenizer.from_str(json.dumps(configuration))
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
