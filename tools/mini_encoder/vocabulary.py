"""Chooses the pieces that the student keeps of the teacher's."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from metacross.errors import ModelError
from tools.mini_encoder.extra import package

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The student's first pieces, in the order of their ids."""
TEACHER_SPECIALS = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
"""The teacher's ids of those it has too."""
MARKER = "▁"
_FIRST_PIECE = 6  # the teacher's pieces below are control symbols


@dataclass(frozen=True)
class Pieces:
    """The teacher's pieces with their scores, and its rules of normalizing characters."""

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    character_map: bytes


@dataclass(frozen=True)
class Vocabulary:
    """What is kept: the teacher's ids, and how often each occurs in the text."""

    pieces: Pieces
    kept: tuple[int, ...]
    counts: Counter[int]

    @cached_property
    def teacher_ids(self) -> Tensor:
        """The teacher's id of each of the student's; specials it lacks are its unknown piece.

        *Shape:* (student pieces,).
        """
        specials = [TEACHER_SPECIALS.get(name, TEACHER_SPECIALS["[UNK]"]) for name in SPECIALS]
        return torch.tensor([*specials, *self.kept])

    @property
    def frequencies(self) -> Tensor:
        """How often each of the student's pieces occurs. *Shape:* (student pieces,)."""
        return torch.tensor([float(self.counts[number]) for number in self.teacher_ids.tolist()])


def pieces_of(serialized: bytes) -> Pieces:
    """Read a serialized SentencePiece model."""
    model = package("sentencepiece.sentencepiece_model_pb2").ModelProto()
    try:
        model.ParseFromString(serialized)
    except package("google.protobuf.message").DecodeError as problem:
        raise ModelError("the teacher's graph: expected a SentencePiece model") from problem
    return Pieces(
        tuple(piece.piece for piece in model.pieces),
        tuple(round(piece.score, 4) for piece in model.pieces),
        model.normalizer_spec.precompiled_charsmap,
    )


def chosen_vocabulary(
    serialized: bytes, sentences: Iterable[str], *, frequent_pieces: int
) -> Vocabulary:
    """Keep what occurs in the sentences, single characters, and Latin pieces of low rank."""
    pieces = pieces_of(serialized)
    counts = _counts(serialized, sentences)
    kept = tuple(
        number
        for number, text in enumerate(pieces.texts)
        if number >= _FIRST_PIECE
        and (
            counts[number] > 0
            or len(text.removeprefix(MARKER)) <= 1
            or (number < frequent_pieces and is_latin(text))
        )
    )
    return Vocabulary(pieces, kept, counts)


def is_latin(text: str) -> bool:
    """Whether a piece has Latin letters only, or no letters at all.

    >>> is_latin("▁Zürich"), is_latin("2,5"), is_latin("Москва")
    (True, True, False)
    """
    letters = (character for character in text if character.isalpha())
    return all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)


def _counts(serialized: bytes, sentences: Iterable[str]) -> Counter[int]:
    processor = package("sentencepiece").SentencePieceProcessor(model_proto=serialized)
    counts: Counter[int] = Counter()
    for ids in processor.encode(list(sentences)):
        counts.update(ids)
    return counts
