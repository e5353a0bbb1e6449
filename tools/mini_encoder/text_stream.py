"""Draws what each distillation step reads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from tokenizers import Tokenizer
from torch import Tensor

from metacross.errors import SettingsError
from tools.mini_encoder.open_text import PIVOT, OpenText
from tools.mini_encoder.recipe import DistillationSettings
from tools.mini_encoder.views import View, Viewer
from tools.mini_encoder.vocabulary import SPECIALS

PAD = SPECIALS.index("[PAD]")
_SHARES = {"en": 0.22, "es": 0.15, "nl": 0.15, "de": 0.2, "fr": 0.1, "zh": 0.18}


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Views padded to the longest; where ``paired``, row 2i+1 translates the English row 2i.

    *Shape:* plain (rows, plain pieces), shown and aligned (rows, shown pieces).
    """

    plain: Tensor
    shown: Tensor
    aligned: Tensor
    paired: bool


class TextStream:
    """Batches that depend on the text, the settings and their number alone.

    Sentences are drawn in chunks, each cut by length into so many batches.
    """

    def __init__(
        self, text: OpenText, tokenizer: Tokenizer, settings: DistillationSettings
    ) -> None:
        self._text = text
        self._stream, self._seed = settings.stream, settings.run.seed
        if self._stream.chunk < 2 * self._stream.batches:
            raise SettingsError(
                f"stream.chunk: expected at least two sentences for each of "
                f"{self._stream.batches} batches, found {self._stream.chunk}"
            )
        self._viewer = Viewer(tokenizer, settings.views, longest=self._stream.longest)
        self._last: tuple[int, list[TextBatch]] | None = None

    def batch(self, number: int) -> TextBatch:
        """The batch of a step; steps below 0 have batches too, which no training sees."""
        chunk, place = divmod(number, self._stream.batches)
        if self._last is None or self._last[0] != chunk:
            self._last = chunk, self._chunk(chunk)
        return self._last[1][place]

    def _chunk(self, number: int) -> list[TextBatch]:
        rng = random.Random(f"{self._seed} {number}")
        paired = rng.random() < self._stream.pair_share and bool(self._text.pairs)
        texts, languages = self._pairs(rng) if paired else self._singles(rng)
        views = self._viewer.views(texts, languages, rng)
        width = 2 if paired else 1
        groups = [views[start : start + width] for start in range(0, len(views), width)]
        batches = [_batch(own, paired) for own in cut_by_length(groups, self._stream.batches)]
        rng.shuffle(batches)
        return batches

    def _singles(self, rng: random.Random) -> tuple[list[str], list[str]]:
        known = list(self._text.sentences)
        shares = [_SHARES[language] for language in known]
        languages = rng.choices(known, weights=shares, k=self._stream.chunk)
        return [rng.choice(self._text.sentences[language]) for language in languages], languages

    def _pairs(self, rng: random.Random) -> tuple[list[str], list[str]]:
        texts: list[str] = []
        languages: list[str] = []
        for language in rng.choices(list(self._text.pairs), k=self._stream.chunk // 2):
            texts += rng.choice(self._text.pairs[language])
            languages += [PIVOT, language]
        return texts, languages


def cut_by_length(groups: Sequence[Sequence[View]], n_batches: int) -> list[list[View]]:
    """Put groups of like lengths together, in batches of about as many pieces, none empty."""
    ordered = sorted(groups, key=_length)
    so_far = list(accumulate(_length(group) for group in ordered))
    batches: list[list[View]] = []
    start = 0
    for number in range(1, n_batches + 1):
        share = so_far[-1] * number / n_batches
        end = sum(pieces <= share for pieces in so_far)
        end = min(max(end, start + 1), len(ordered) - (n_batches - number))
        batches.append([view for group in ordered[start:end] for view in group])
        start = end
    return batches


def _length(group: Sequence[View]) -> int:
    return max(len(view.shown) for view in group)


def _batch(views: Sequence[View], paired: bool) -> TextBatch:
    return TextBatch(
        _padded([view.plain for view in views], PAD),
        _padded([view.shown for view in views], PAD),
        _padded([view.aligned for view in views], 0),
        paired,
    )


def _padded(rows: Sequence[tuple[int, ...]], filler: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + (filler,) * (width - len(row)) for row in rows])  # (rows, width)
