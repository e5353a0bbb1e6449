"""Selects which of the teacher's pieces the student keeps."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from metacross.errors import ModelError
from tools.mini_encoder.optional_imports import import_optional

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The student's first pieces, in the order of their ids."""
TEACHER_SPECIALS = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
"""The teacher's ids of the special pieces that it has too."""
MARKER = "▁"
"""The character that stands for a space in front of a word."""
_FIRST_PIECE = 6  # the teacher's pieces with lower ids are control symbols


@dataclass(frozen=True)
class Pieces:
    """The teacher's pieces with their scores, and its rules for normalizing characters."""

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    character_map: bytes


@dataclass(frozen=True)
class Vocabulary:
    """The teacher's ids of the kept pieces, and how often every piece occurs in the text."""

    pieces: Pieces
    kept_ids: tuple[int, ...]
    counts: Counter[int]

    @cached_property
    def teacher_ids(self) -> Tensor:
        """The teacher's id of each piece of the student. Special pieces that the teacher does not
        have are mapped to its unknown piece. *Shape:* (student pieces,).
        """
        specials = [TEACHER_SPECIALS.get(name, TEACHER_SPECIALS["[UNK]"]) for name in SPECIALS]
        return torch.tensor([*specials, *self.kept_ids])

    @property
    def frequencies(self) -> Tensor:
        """How often each piece of the student occurs in the text. *Shape:* (student pieces,)."""
        return torch.tensor(
            [float(self.counts[piece_id]) for piece_id in self.teacher_ids.tolist()]
        )


def parse_pieces(serialized: bytes) -> Pieces:
    """Parse a serialized SentencePiece model."""
    model = import_optional("sentencepiece.sentencepiece_model_pb2").ModelProto()
    try:
        model.ParseFromString(serialized)
    except import_optional("google.protobuf.message").DecodeError as problem:
        raise ModelError("the teacher's graph: expected a SentencePiece model") from problem
    return Pieces(
        tuple(piece.piece for piece in model.pieces),
        tuple(round(piece.score, 4) for piece in model.pieces),
        model.normalizer_spec.precompiled_charsmap,
    )


def select_vocabulary(
    serialized: bytes, sentences: Iterable[str], *, frequent_pieces: int
) -> Vocabulary:
    """Keep the pieces that occur in the sentences, all single characters, and the Latin pieces
    among the first ``frequent_pieces``.
    """
    pieces = parse_pieces(serialized)
    counts = _piece_counts(serialized, sentences)
    kept_ids = tuple(
        piece_id
        for piece_id, text in enumerate(pieces.texts)
        if piece_id >= _FIRST_PIECE
        and (
            counts[piece_id] > 0
            or len(text.removeprefix(MARKER)) <= 1
            or (piece_id < frequent_pieces and is_latin(text))
        )
    )
    return Vocabulary(pieces, kept_ids, counts)


def is_latin(text: str) -> bool:
    """Whether all letters of a piece are Latin; true where it has no letters.

    >>> is_latin("▁Zürich"), is_latin("2,5"), is_latin("Москва")
    (True, True, False)
    """
    letters = (character for character in text if character.isalpha())
    return all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)


def _piece_counts(serialized: bytes, sentences: Iterable[str]) -> Counter[int]:
    processor = import_optional("sentencepiece").SentencePieceProcessor(model_proto=serialized)
    counts: Counter[int] = Counter()
    for piece_ids in processor.encode(list(sentences)):
        counts.update(piece_ids)
    return counts
