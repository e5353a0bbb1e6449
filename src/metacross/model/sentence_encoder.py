"""Turns sentences into vectors that are close for similar sentences of any language."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from metacross.model.batching import length_batches
from metacross.model.encoder import encoder_of, first_states, last_states, weights_digest
from metacross.model.frozen_states import FrozenStates
from metacross.model.ranks import ALONE, Ranks
from metacross.text.sentence import Sentence
from metacross.text.windows import Window, WindowCutter, batch_of
from metacross.text.word_grouping import WordGrouper

Vectors = NDArray[np.float32]


class SentenceEncoder:
    """The paper's ``f``: the last-layer state of the first piece of a pre-trained encoder.

    A sentence longer than a window is represented by its first window. ``pooling="mean"`` takes
    the mean over the pieces of the sentence instead, ``"last"`` the state of the last piece.
    """

    def __init__(
        self,
        network: nn.Module,
        window_cutter: WindowCutter,
        pooling: str,
        device: torch.device,
        word_grouper: WordGrouper | None = None,
    ) -> None:
        self._encoder = encoder_of(network).to(device).eval()
        self._window_cutter = window_cutter
        self._pooling = pooling
        self._device = device
        self._word_grouper = word_grouper or WordGrouper("given")

    def vectors(
        self,
        sentences: Sequence[Sentence],
        *,
        progress: Callable[[int], None] = lambda _n_done: None,
        ranks: Ranks = ALONE,
    ) -> Vectors:
        """A vector for each sentence. *Shape:* (sentences, width)."""
        windows = self._window_cutter.windows([self._read(sentence) for sentence in sentences])
        return self.vectors_of_windows(windows, progress=progress, ranks=ranks)

    def _read(self, sentence: Sentence) -> Sentence:
        """The sentence in the words that the encoder reads, without its entities."""
        groups = self._word_grouper.groups(sentence)
        return groups.grouped(sentence.with_spans(None)) if groups else sentence

    def vectors_of_windows(
        self,
        windows: Sequence[Sequence[Window]],
        *,
        batch_pieces: int = 4_096,
        progress: Callable[[int], None] = lambda _n_done: None,
        ranks: Ranks = ALONE,
        frozen_states: FrozenStates | None = None,
    ) -> Vectors:
        """A vector for each sentence that is already cut into windows by the tokenizer of this
        encoder. Processes share out the batches. ``frozen_states`` collects what the frozen layers
        give, for a tagger that shares them; None: it is not kept. *Shape:* (sentences, width).
        """
        first_windows = [sentence_windows[:1] for sentence_windows in windows]
        batches = length_batches(first_windows, max_pieces=batch_pieces)
        n_done = 0

        def batch_vectors(positions: Sequence[int]) -> Vectors:
            nonlocal n_done
            pooled: Vectors = self._pooled([first_windows[i] for i in positions]).cpu().numpy()
            n_done += len(positions)
            progress(n_done)
            return pooled.copy()  # it can be a view of all states

        vectors: Vectors = np.empty((len(windows), 0), dtype=np.float32)
        with frozen_states.collected(self._encoder) if frozen_states is not None else nullcontext():
            for positions, rows in zip(batches, ranks.shared(batches, batch_vectors), strict=True):
                if not vectors.shape[1]:
                    vectors = np.empty((len(windows), rows.shape[1]), dtype=np.float32)
                vectors[positions] = rows
        if n_done < len(windows):  # other processes did the rest
            progress(len(windows))
        return vectors

    @torch.no_grad()
    def _pooled(self, windows: Sequence[Sequence[Window]]) -> Tensor:
        batch = batch_of(windows, self._window_cutter.special.pad)
        piece_ids = torch.as_tensor(batch.piece_ids, device=self._device)
        attention = torch.as_tensor(batch.attention, device=self._device)
        if self._pooling == "cls":
            return first_states(self._encoder, piece_ids, attention).float()
        states = last_states(self._encoder, piece_ids, attention)  # (windows, pieces, width)
        lengths = attention.sum(dim=1, keepdim=True)  # (windows, 1)
        if self._pooling == "last":
            return states[torch.arange(len(states)), lengths[:, 0] - 1].float()
        special = self._window_cutter.special
        first, ends = len(special.before), lengths - len(special.after)
        positions = torch.arange(attention.shape[1], device=self._device)
        is_text = ((positions >= first) & (positions < ends)).unsqueeze(-1)  # (windows, pieces, 1)
        return (states * is_text).sum(dim=1).float() / is_text.sum(dim=1).clamp(min=1)

    def key(self, sentences: Sequence[Sentence]) -> str:
        """A digest of everything that the sentences' vectors depend on."""
        digest = hashlib.sha256(f"1 {self._pooling} {self._window_cutter.identity}".encode())
        digest.update(weights_digest(self._encoder).encode())
        for sentence in sentences:
            words = self._read(sentence).words
            digest.update("\x1f".join(words).encode("utf-8", "surrogatepass") + b"\x1e")
        return digest.hexdigest()


def pretrained_twin(network: nn.Module, pretrained: Mapping[str, Tensor]) -> nn.Module:
    """The network as it was before training; it shares the weights that were not trained.

    ``pretrained`` holds the values from before training by name; they are not copied.
    """
    parameters = {
        id(parameter): nn.Parameter(pretrained[name], requires_grad=False)
        if name in pretrained
        else parameter
        for name, parameter in network.named_parameters()
    }
    return copy.deepcopy(network, memo=dict(parameters)).eval()
