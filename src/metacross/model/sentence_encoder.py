"""Turns sentences into vectors that lie near for like sentences of any language."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from metacross.model.encoder import encoder_of, last_states, weights_digest
from metacross.text.sentence import Sentence
from metacross.text.windows import Window, WindowCutter, batch_of

Vectors = NDArray[np.float32]


class SentenceEncoder:
    """The paper's ``f``: a pre-trained encoder's last-layer state of the first piece.

    Of a sentence longer than a window the first window speaks. ``pooling`` "mean" takes the mean
    over the pieces of the sentence instead.
    """

    def __init__(
        self, network: nn.Module, window_cutter: WindowCutter, pooling: str, device: torch.device
    ) -> None:
        self._encoder = encoder_of(network).to(device).eval()
        self._word_pieces = window_cutter
        self._pooling = pooling
        self._device = device

    def vectors(
        self,
        sentences: Sequence[Sentence],
        *,
        batch_pieces: int = 4_096,
        progress: Callable[[int], None] = lambda _n_done: None,
    ) -> Vectors:
        """A vector for each sentence. *Shape:* (sentences, width)."""
        firsts = [windows[0] for windows in self._word_pieces.windows(sentences)]
        by_length = sorted(range(len(firsts)), key=lambda i: len(firsts[i]))
        rows: dict[int, NDArray[np.float32]] = {}
        for positions in _batches(by_length, firsts, batch_pieces):
            pooled = self._pooled([firsts[i] for i in positions])
            rows.update(zip(positions, pooled.cpu().numpy(), strict=True))
            progress(len(rows))
        return np.stack([rows[i] for i in range(len(firsts))])

    @torch.no_grad()
    def _pooled(self, windows: list[Window]) -> Tensor:
        batch = batch_of([[window] for window in windows], self._word_pieces.special.pad)
        piece_ids = torch.as_tensor(batch.piece_ids, device=self._device)
        attention = torch.as_tensor(batch.attention, device=self._device)
        states = last_states(self._encoder, piece_ids, attention)  # (windows, pieces, width)
        if self._pooling == "cls":
            return states[:, 0].float()
        ends = attention.sum(dim=1, keepdim=True) - 1  # (windows, 1): where the end piece stands
        positions = torch.arange(attention.shape[1], device=self._device)
        inner = ((positions > 0) & (positions < ends)).unsqueeze(-1)  # (windows, pieces, 1)
        return (states * inner).sum(dim=1).float() / inner.sum(dim=1).clamp(min=1)

    def key(self, sentences: Sequence[Sentence]) -> str:
        """A digest of all that the sentences' vectors depend on."""
        digest = hashlib.sha256(f"1 {self._pooling} {self._word_pieces.identity}".encode())
        digest.update(weights_digest(self._encoder).encode())
        for sentence in sentences:
            digest.update("\x1f".join(sentence.words).encode("utf-8", "surrogatepass") + b"\x1e")
        return digest.hexdigest()


def _batches(order: Sequence[int], windows: Sequence[Window], batch_pieces: int) -> list[list[int]]:
    """Cut positions, shortest window first, into batches of about as many pieces."""
    batches: list[list[int]] = []
    for position in order:
        length = len(windows[position])
        if not batches or (len(batches[-1]) + 1) * length > batch_pieces:
            batches.append([])
        batches[-1].append(position)
    return batches


def pretrained_twin(network: nn.Module, pretrained: Mapping[str, Tensor]) -> nn.Module:
    """The network as it was before training, sharing with it the weights that were not trained.

    ``pretrained`` holds the old values of the trained weights by name; they are not copied.
    """
    shared = {
        id(parameter): nn.Parameter(pretrained[name], requires_grad=False)
        if name in pretrained
        else parameter
        for name, parameter in network.named_parameters()
    }
    return copy.deepcopy(network, memo=dict(shared)).eval()
