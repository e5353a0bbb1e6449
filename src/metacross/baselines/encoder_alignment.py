"""Aligns the words of parallel text by the states that an encoder gives them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from metacross.model.batching import length_batches
from metacross.model.devices import resolve_device
from metacross.model.encoder import encoder_of, last_states, load_encoder
from metacross.settings import EncoderSettings
from metacross.text.parallel_text import Links, SentencePair
from metacross.text.sentence import Sentence
from metacross.text.windows import batch_of

_TEMPERATURE = 0.05
_MIN_PROBABILITY = 0.1
_BATCH_PIECES = 4_096


class EncoderAligner:
    """Links words whose states are most similar to each other, in both directions.

    ``layers`` is the number of bottom layers that are read; None: all.
    """

    def __init__(
        self, settings: EncoderSettings, *, layers: int | None = None, device: str = "auto"
    ) -> None:
        encoder = load_encoder(settings.name, layers=layers or settings.layers)
        self._device = resolve_device(device)
        self._network = encoder_of(encoder.network).to(self._device).eval()
        self._cutter = encoder.tokenizer.window_cutter(
            max_length=settings.max_length, overlap=settings.overlap
        )

    def align(self, pairs: Sequence[SentencePair]) -> list[Links]:
        """The links of each pair."""
        sources = self._states([pair.source for pair in pairs])
        targets = self._states([pair.target for pair in pairs])
        return [mutual_links(s, t) for s, t in zip(sources, targets, strict=True)]

    @torch.no_grad()
    def _states(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """The state of each word's first piece. *Shape:* each (words, width)."""
        windows = self._cutter.windows(sentences)
        states: dict[int, Tensor] = {}
        for positions in length_batches(windows, max_pieces=_BATCH_PIECES):
            batch = batch_of([windows[i] for i in positions], self._cutter.special.pad)
            piece_ids = torch.as_tensor(batch.piece_ids, device=self._device)
            attention = torch.as_tensor(batch.attention, device=self._device)
            pieces = last_states(self._network, piece_ids, attention)  # (windows, pieces, width)
            words = pieces[batch.window_of_word, batch.piece_of_word].float().cpu()
            counts = [len(sentences[i].words) for i in positions]
            states.update(zip(positions, torch.split(words, counts), strict=True))
        return [states[i] for i in range(len(sentences))]


def mutual_links(source: Tensor, target: Tensor) -> Links:
    """The links between words that choose each other: each is the most similar one for the other,
    with enough probability. *Shape:* source and target (words, width).
    """
    similarity = (
        torch.nn.functional.normalize(source) @ torch.nn.functional.normalize(target).T
    ) / _TEMPERATURE  # (source words, target words)
    ahead, back = similarity.softmax(dim=1), similarity.softmax(dim=0)
    chosen = (
        (ahead == ahead.amax(dim=1, keepdim=True))
        & (back == back.amax(dim=0, keepdim=True))
        & (torch.minimum(ahead, back) >= _MIN_PROBABILITY)
    )
    return frozenset((int(i), int(j)) for i, j in chosen.nonzero().tolist())
