"""The source sentences that a model adapts to, and their files in a model folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from metacross.errors import ModelError
from metacross.model.array_file import Array, MappedArray, StackedArray, write_array
from metacross.model.encoder import Encoder, load_encoder, save_network, sentence_pooling
from metacross.model.remembered import (
    REMEMBERED,
    Remembered,
    read_remembered,
    vectors_digest,
    write_remembered,
)
from metacross.model.sentence_encoder import SentenceEncoder, Vectors, pretrained_twin
from metacross.model.tagger import Tagger
from metacross.settings import Settings
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence
from metacross.text.stored_sentences import StoredSentences, count_lines
from metacross.text.writing import write_corpus

SOURCE = "source.jsonl"
SENTENCE_ENCODER = "sentence_encoder"
_VECTORS, _PRETRAINED = "source_vectors.safetensors", "pretrained.safetensors"
SOURCE_FILES = (SOURCE, _VECTORS, _PRETRAINED)
"""What adaptation needs, besides the folder of another sentence encoder."""


@dataclass(frozen=True, slots=True)
class Datastore:
    """What a model adapts to: source sentences, their vectors, and the encoder that made them.

    ``remembered`` are labeled sentences that joined later; their positions follow the source's.

    ``pretrained`` holds the weights of the tagger's encoder from before training. If another
    encoder makes the vectors, it is ``outside`` and ``pretrained`` is None.
    """

    source: Corpus
    vectors: Vectors | MappedArray
    sentence_encoder: SentenceEncoder
    pretrained: Mapping[str, Tensor] | None
    outside: Encoder | None
    remembered: tuple[Remembered, ...] = ()

    @property
    def all_vectors(self) -> Array:
        """The vectors of source and remembered sentences. *Shape:* (sentences, width)."""
        if not self.remembered:
            return self.vectors
        return StackedArray(self.vectors, self.remembered_vectors)

    @property
    def remembered_vectors(self) -> Vectors:
        """The vectors of remembered sentences. *Shape:* (sentences, width)."""
        width = self.vectors.shape[1]
        return np.array([r.vector for r in self.remembered], np.float32).reshape(-1, width)

    def sentence_at(self, position: int) -> tuple[Sentence, str | None]:
        """A sentence, and its id if it is remembered; None if it is a source sentence."""
        if position < len(self.source):
            return self.source[position], None
        remembered = self.remembered[position - len(self.source)]
        return remembered.sentence, remembered.id

    @property
    def uses_tagger_tokenizer(self) -> bool:
        """Whether sentence vectors are made from the same windows as the tagger reads."""
        return self.outside is None


def write_datastore(datastore: Datastore, folder: Path) -> None:
    """Write a datastore to a model folder."""
    _write_source(datastore.source, folder / SOURCE)
    write_array(folder / _VECTORS, "vectors", datastore.vectors)
    if datastore.remembered:
        write_remembered(folder, datastore.remembered, vectors_digest(datastore.vectors))
    if datastore.pretrained is not None:
        save_file(dict(datastore.pretrained), folder / _PRETRAINED)
    if datastore.outside is not None:
        save_network(
            datastore.outside.network, datastore.outside.tokenizer, folder / SENTENCE_ENCODER
        )


def _write_source(source: Corpus, path: Path) -> None:
    if isinstance(source.sentences, StoredSentences):
        source.sentences.copy_to(path)
    else:
        write_corpus(source, path)


def read_datastore(folder: Path, tagger: Tagger, settings: Settings) -> Datastore:
    """Read a datastore from a model folder; many sentences and vectors stay in their files."""
    source = _source(folder / SOURCE, settings.run.mmap_above)
    vectors = _vectors(folder / _VECTORS, settings.run.mmap_above)
    if len(vectors) != len(source):
        raise ModelError(
            f"{folder}: expected a vector for each of {len(source):,} source sentences, "
            f"found {len(vectors):,}"
        )
    remembered: tuple[Remembered, ...] = ()
    if (folder / REMEMBERED).exists():
        remembered = read_remembered(folder, vectors_digest(vectors))
        _check_width(remembered, vectors.shape[1], folder / REMEMBERED)
    if settings.retrieval.encoder is None:
        pretrained = _tensors(folder / _PRETRAINED)
        _check_names(pretrained, tagger, folder)
        encoder = pretrained_encoder(tagger, pretrained, settings)
        return Datastore(source, vectors, encoder, pretrained, None, remembered)
    outside = load_encoder(str(folder / SENTENCE_ENCODER))
    encoder = outside_encoder(outside, settings, tagger)
    return Datastore(source, vectors, encoder, None, outside, remembered)


def _source(path: Path, max_in_memory: int) -> Corpus:
    """The source sentences, in memory unless they are too many."""
    try:
        if count_lines(path) > max_in_memory:
            return Corpus(StoredSentences(path), source=str(path))
    except OSError as problem:
        raise ModelError(f"{path}: cannot be read: {problem.strerror}") from problem
    return read_corpus(path)


def _vectors(path: Path, max_in_memory: int) -> Vectors | MappedArray:
    """The vectors of the source sentences, in memory unless they are too many."""
    try:
        mapped = MappedArray(path)
    except (OSError, ValueError) as problem:
        raise ModelError(f"{path}: cannot be read as safetensors: {problem}") from problem
    return mapped if len(mapped) > max_in_memory else mapped[:]


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as problem:
        raise ModelError(f"{path}: cannot be read as safetensors: {problem}") from problem


def _check_width(remembered: Sequence[Remembered], width: int, path: Path) -> None:
    for item in remembered:
        if len(item.vector) != width:
            raise ModelError(
                f"{path}: expected vectors of {width} numbers, found {len(item.vector)} for the "
                f"sentence {item.id}; metacross forget takes it back"
            )


def _check_names(pretrained: Mapping[str, Tensor], tagger: Tagger, folder: Path) -> None:
    unknown = [name for name in pretrained if name not in tagger.trainable]
    if unknown:
        raise ModelError(
            f"{folder / _PRETRAINED}: expected weights of the tagger, found {unknown[0]}"
        )


def pretrained_encoder(
    tagger: Tagger, pretrained: Mapping[str, Tensor], settings: Settings
) -> SentenceEncoder:
    """The sentence encoder for the tagger's encoder, with its weights from before training."""
    twin = pretrained_twin(tagger.network, pretrained)
    cutter = tagger.window_cutter
    pooling = sentence_pooling(twin, cutter.special, settings.retrieval.pooling)
    return SentenceEncoder(twin, cutter, pooling, tagger.device, tagger.word_grouper)


def outside_encoder(outside: Encoder, settings: Settings, tagger: Tagger) -> SentenceEncoder:
    """The sentence encoder for an encoder other than the tagger's."""
    pieces = outside.tokenizer.window_cutter(
        max_length=settings.encoder.max_length, overlap=settings.encoder.overlap
    )
    pooling = sentence_pooling(outside.network, pieces.special, settings.retrieval.pooling)
    return SentenceEncoder(outside.network, pieces, pooling, tagger.device, tagger.word_grouper)
