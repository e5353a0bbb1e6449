"""Samples the batch of each distillation step."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from tokenizers import Tokenizer
from torch import Tensor

from metacross.errors import SettingsError
from tools.mini_encoder.augmentation import AlignedPieces, Augmenter
from tools.mini_encoder.open_text import PIVOT, OpenText
from tools.mini_encoder.settings import DistillationSettings
from tools.mini_encoder.vocabulary import SPECIALS

PAD = SPECIALS.index("[PAD]")
_LANGUAGE_WEIGHTS = {"en": 0.22, "es": 0.15, "nl": 0.15, "de": 0.2, "fr": 0.1, "zh": 0.18}


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Padded piece ids of the teacher's and of the student's texts, and their alignment.

    In a parallel batch, row 2i+1 is the translation of the English row 2i.

    *Shape:* plain (rows, plain pieces), augmented and alignment (rows, augmented pieces).
    """

    plain: Tensor
    augmented: Tensor
    alignment: Tensor
    is_parallel: bool


class TextStream:
    """Batches that depend only on the text, the settings and the number of the step.

    Sentences are sampled in chunks. A chunk is sorted by length and cut into batches.
    """

    def __init__(
        self, text: OpenText, tokenizer: Tokenizer, settings: DistillationSettings
    ) -> None:
        self._text = text
        self._stream, self._seed = settings.stream, settings.run.seed
        if self._stream.chunk_size < 2 * self._stream.batches_per_chunk:
            raise SettingsError(
                f"stream.chunk_size: expected at least two sentences for each of "
                f"{self._stream.batches_per_chunk} batches, found {self._stream.chunk_size}"
            )
        self._augmenter = Augmenter(
            tokenizer, settings.augmentation, max_length=self._stream.max_length
        )
        self._last_chunk: tuple[int, list[TextBatch]] | None = None

    def batch(self, number: int) -> TextBatch:
        """The batch of a step; negative numbers give batches that no training step uses."""
        chunk, place = divmod(number, self._stream.batches_per_chunk)
        if self._last_chunk is None or self._last_chunk[0] != chunk:
            self._last_chunk = chunk, self._chunk(chunk)
        return self._last_chunk[1][place]

    def _chunk(self, number: int) -> list[TextBatch]:
        rng = random.Random(f"{self._seed} {number}")
        is_parallel = rng.random() < self._stream.parallel_ratio and bool(self._text.pairs)
        texts, languages = self._pairs(rng) if is_parallel else self._singles(rng)
        pieces = self._augmenter.aligned_pieces(texts, languages, rng)
        size = 2 if is_parallel else 1
        groups = [pieces[start : start + size] for start in range(0, len(pieces), size)]
        batches = [
            _padded_batch(rows, is_parallel)
            for rows in cut_by_length(groups, self._stream.batches_per_chunk)
        ]
        rng.shuffle(batches)
        return batches

    def _singles(self, rng: random.Random) -> tuple[list[str], list[str]]:
        available = list(self._text.sentences)
        weights = [_LANGUAGE_WEIGHTS[language] for language in available]
        languages = rng.choices(available, weights=weights, k=self._stream.chunk_size)
        return [rng.choice(self._text.sentences[language]) for language in languages], languages

    def _pairs(self, rng: random.Random) -> tuple[list[str], list[str]]:
        texts: list[str] = []
        languages: list[str] = []
        for language in rng.choices(list(self._text.pairs), k=self._stream.chunk_size // 2):
            texts += rng.choice(self._text.pairs[language])
            languages += [PIVOT, language]
        return texts, languages


def cut_by_length(
    groups: Sequence[Sequence[AlignedPieces]], n_batches: int
) -> list[list[AlignedPieces]]:
    """Sort groups by length and cut them into batches of about equally many pieces, none empty."""
    ordered = sorted(groups, key=_length)
    cumulative = list(accumulate(_length(group) for group in ordered))
    batches: list[list[AlignedPieces]] = []
    start = 0
    for number in range(1, n_batches + 1):
        n_pieces = cumulative[-1] * number / n_batches
        end = sum(pieces <= n_pieces for pieces in cumulative)
        end = min(max(end, start + 1), len(ordered) - (n_batches - number))
        batches.append([row for group in ordered[start:end] for row in group])
        start = end
    return batches


def _length(group: Sequence[AlignedPieces]) -> int:
    return max(len(row.augmented) for row in group)


def _padded_batch(rows: Sequence[AlignedPieces], is_parallel: bool) -> TextBatch:
    return TextBatch(
        _padded([row.plain for row in rows], PAD),
        _padded([row.augmented for row in rows], PAD),
        _padded([row.alignment for row in rows], 0),
        is_parallel,
    )


def _padded(rows: Sequence[tuple[int, ...]], filler: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + (filler,) * (width - len(row)) for row in rows])  # (rows, width)
