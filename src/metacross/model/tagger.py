"""The tagger: an encoder with a linear layer that labels words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

import torch
from torch import Tensor, nn

from metacross.errors import DataError, ModelError
from metacross.model.cores import use_threads
from metacross.model.devices import autocast, resolve_device
from metacross.model.encoder import (
    embedding_parameters,
    encoder_of,
    head_dropout,
    layers_of,
    new_tagger_network,
    tag_logits,
)
from metacross.model.frozen_cache import FrozenCache, PieceIds
from metacross.model.frozen_states import FrozenStates
from metacross.model.losses import sentence_losses
from metacross.model.packing import packed_linear_layers
from metacross.model.tokenizer import EncoderTokenizer, load_tokenizer
from metacross.settings import EncoderSettings, RunSettings, Settings
from metacross.text.sentence import CountedSentences, Sentence
from metacross.text.tags import TagSet
from metacross.text.windows import Window, WindowCutter, batch_of
from metacross.text.word_grouping import WordGrouper, WordGroups

_LAZY_EXAMPLES = 4_096  # that are kept


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenized sentence; ``tag_ids`` is None if it is not labeled.

    Windows and tags are those of the words that the tagger reads. ``groups`` says which units of
    the sentence they consist of; None: each unit is a word.
    """

    windows: tuple[Window, ...]
    tag_ids: tuple[int, ...] | None
    groups: WordGroups | None = None

    @property
    def n_pieces(self) -> int:
        """Number of pieces in all windows."""
        return sum(len(window) for window in self.windows)


@dataclass(frozen=True, slots=True)
class TaggerBatch:
    """Examples on the tagger's device.

    *Shape:* piece_ids and attention (windows, pieces), the others (words,).
    """

    piece_ids: Tensor
    attention: Tensor
    window_of_word: Tensor
    piece_of_word: Tensor
    sentence_of_word: Tensor
    tag_ids: Tensor | None
    n_sentences: int
    windows: tuple[PieceIds, ...]


class Tagger:
    """An encoder, dropout and one linear layer, over the BIO tags of some entity types.

    Only the first piece of a word is labeled, trained on and scored.
    """

    def __init__(
        self,
        network: nn.Module,
        tokenizer: EncoderTokenizer,
        tag_set: TagSet,
        encoder: EncoderSettings,
        run: RunSettings,
    ) -> None:
        use_threads(run.threads)
        self.device = resolve_device(run.device)
        self.network = network.to(self.device)
        self.tokenizer = tokenizer
        self.tag_set = tag_set
        self.precision = run.precision
        self.word_grouper = WordGrouper(encoder.words)
        self.window_cutter: WindowCutter = tokenizer.window_cutter(
            max_length=encoder.max_length, overlap=encoder.overlap
        )
        head_dropout(network).p = encoder.dropout
        freeze(network, encoder.frozen_layers)
        self.trainable: dict[str, nn.Parameter] = {
            name: parameter
            for name, parameter in network.named_parameters()
            if parameter.requires_grad
        }
        self.n_frozen_layers = encoder.frozen_layers or 0
        self._frozen_outputs: FrozenCache | FrozenStates | None = None

    def examples(self, sentences: Iterable[Sentence]) -> list[Example]:
        """Tokenize sentences to learn from, with the ids of their tags if they are labeled.

        Words are cut at the edges of entities, so that no label is lost. For sentences to be
        labeled use :meth:`inputs`: this cut would give their entities away.
        """
        read: list[Sentence] = []
        groups_of_sentences: list[WordGroups | None] = []
        for sentence in sentences:
            groups = self.word_grouper.groups(sentence)
            groups = groups and groups.cut_at(sentence.spans or ())
            read.append(groups.grouped(sentence) if groups else sentence)
            groups_of_sentences.append(groups)
        return [
            Example(windows, self._tag_ids(sentence), groups)
            for sentence, windows, groups in zip(
                read, self.window_cutter.windows(read), groups_of_sentences, strict=True
            )
        ]

    def lazy_examples(self, sentences: Sequence[Sentence]) -> Sequence[Example]:
        """As :meth:`examples`; sentences that are in a file are tokenized when they are needed."""
        if isinstance(sentences, CountedSentences):
            return _LazyExamples(self, sentences)
        return self.examples(sentences)

    def inputs(self, sentences: Iterable[Sentence]) -> list[Example]:
        """Tokenize sentences to be labeled, without a look at the entities that they have."""
        return self.examples(sentence.with_spans(None) for sentence in sentences)

    def _tag_ids(self, sentence: Sentence) -> tuple[int, ...] | None:
        if sentence.spans is None:
            return None
        try:
            return self.tag_set.ids(sentence.spans, len(sentence.words))
        except DataError as problem:
            raise DataError(f"{sentence.place}: {problem}") from None

    def batch(self, examples: Sequence[Example]) -> TaggerBatch:
        """Pad examples to their longest window."""
        arrays = batch_of([example.windows for example in examples], self.tokenizer.special.pad)
        tag_ids = [example.tag_ids for example in examples]
        labeled = [ids for ids in tag_ids if ids is not None]
        flat = [tag_id for ids in labeled for tag_id in ids]
        return TaggerBatch(
            piece_ids=self._tensor(arrays.piece_ids),
            attention=self._tensor(arrays.attention),
            window_of_word=self._tensor(arrays.window_of_word),
            piece_of_word=self._tensor(arrays.piece_of_word),
            sentence_of_word=self._tensor(arrays.sentence_of_word),
            tag_ids=self._tensor(flat) if len(labeled) == len(tag_ids) else None,
            n_sentences=arrays.n_sentences,
            windows=tuple(window.piece_ids for example in examples for window in example.windows),
        )

    def _tensor(self, values: object) -> Tensor:
        return torch.as_tensor(values, dtype=torch.long, device=self.device)

    def logits(self, batch: TaggerBatch) -> Tensor:
        """The logits of all tags for every word. *Shape:* (words, tags)."""
        with (
            autocast(self.precision, self.device),
            self._skipped_layers(batch),
            self._packed_layers(batch),
        ):
            scores = tag_logits(self.network, batch.piece_ids, batch.attention)
        return scores[batch.window_of_word, batch.piece_of_word].float()

    def _packed_layers(self, batch: TaggerBatch) -> AbstractContextManager[object]:
        if self.precision != "float32":
            return contextlib.nullcontext()
        return packed_linear_layers(batch.attention)

    def _skipped_layers(self, batch: TaggerBatch) -> AbstractContextManager[None]:
        if self._frozen_outputs is None:
            return contextlib.nullcontext()
        return self._frozen_outputs.skipped_layers(batch.windows)

    @contextlib.contextmanager
    def frozen_cache(self, examples: Sequence[Example], *, memory_bytes: int) -> Iterator[None]:
        """Inside the block the outputs of frozen layers are computed once for each sentence, where
        that is exact: not with dropout in these layers. Then use the tagger in one thread.
        """
        if self.n_frozen_layers and memory_bytes:
            cache = FrozenCache(
                self.network,
                self.n_frozen_layers,
                self.tokenizer.special,
                memory_bytes=memory_bytes,
            )
            if cache.supports(examples[0].windows[0].piece_ids):
                self._frozen_outputs = cache
        try:
            yield
        finally:
            self._frozen_outputs = None

    @contextlib.contextmanager
    def frozen_states(self, states: FrozenStates) -> Iterator[None]:
        """Inside the block frozen layers are skipped for sentences whose outputs are known."""
        with states.used_in(self.network):
            self._frozen_outputs = states
            try:
                yield
            finally:
                self._frozen_outputs = None

    def loss(self, batch: TaggerBatch, *, max_weight: float) -> Tensor:
        """The mean of the sentences' losses. *Shape:* ()."""
        if batch.tag_ids is None:
            raise DataError("expected labeled sentences to learn from, found unlabeled ones")
        losses = sentence_losses(
            self.logits(batch),
            batch.tag_ids,
            batch.sentence_of_word,
            batch.n_sentences,
            max_weight=max_weight,
        )
        return losses.mean()


def new_tagger(settings: Settings, tag_set: TagSet) -> Tagger:
    """A pre-trained encoder with a new linear layer."""
    encoder = settings.encoder
    network = new_tagger_network(
        encoder.name,
        tag_set.tags,
        settings.run.seed,
        attention=encoder.attention,
        layers=encoder.layers,
    )
    return Tagger(network, load_tokenizer(encoder.name), tag_set, encoder, settings.run)


class _LazyExamples(Sequence[Example]):
    """Tokenizes sentences when they are needed, and keeps the last ones."""

    def __init__(self, tagger: Tagger, sentences: Sequence[Sentence]) -> None:
        self._sentences = sentences
        self._example = lru_cache(_LAZY_EXAMPLES)(
            lambda position: tagger.examples([sentences[position]])[0]
        )

    def __len__(self) -> int:
        return len(self._sentences)

    @overload
    def __getitem__(self, position: int) -> Example: ...

    @overload
    def __getitem__(self, position: slice) -> list[Example]: ...

    def __getitem__(self, position: int | slice) -> Example | list[Example]:
        if isinstance(position, slice):
            return [self._example(i) for i in range(*position.indices(len(self)))]
        return self._example(position)


def freeze(network: nn.Module, n_layers: int | None) -> None:
    """Freeze the embeddings and the ``n_layers`` bottom layers; None trains everything."""
    for parameter in network.parameters():
        parameter.requires_grad_(True)
    for parameter in _unused_parameters(network):
        parameter.requires_grad_(False)
    if n_layers is None:
        return
    layers = layers_of(network)
    if n_layers > len(layers):
        raise ModelError(
            f"encoder.frozen_layers: expected at most the encoder's {len(layers)} layers, "
            f"found {n_layers}"
        )
    for parameter in embedding_parameters(network):
        parameter.requires_grad_(False)
    for layer in layers[:n_layers]:
        layer.requires_grad_(False)


def _unused_parameters(network: nn.Module) -> Iterable[nn.Parameter]:
    """The pooling layer, which the tags do not depend on."""
    named = encoder_of(network).named_parameters()
    return (parameter for name, parameter in named if "pool" in name)
