"""Taggers without an encoder: what they have in common."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from metacross.errors import ModelError
from metacross.model.crf import Chain, best_paths, marginals
from metacross.text.sentence import Sentence
from metacross.text.tags import TagSet
from metacross.text.windows import Window

_MAX_WORDS = 4_096  # in a batch


class WordTagger(ABC):
    """Scores the tags of words in the chain of a CRF.

    ``kind`` names it in a model folder.
    """

    kind: ClassVar[str]
    device = torch.device("cpu")

    @property
    @abstractmethod
    def tag_set(self) -> TagSet:
        """The tags that it knows."""

    @property
    @abstractmethod
    def chain(self) -> Chain:
        """The scores of tags that follow each other."""

    @abstractmethod
    def emissions(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """The scores of all tags, for each sentence. *Shape:* each (words, tags)."""

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write its files: JSON, text and safetensors."""

    @property
    def window_cutter(self) -> WordWindows:
        """Measures sentences in words."""
        return WordWindows()

    @property
    def network(self) -> NoReturn:
        """It has none; what needs one is refused."""
        raise ModelError(
            f"expected a model with an encoder, found a {self.kind} tagger, which has none"
        )


class WordWindows:
    """Every sentence is one window, every word one piece."""

    def windows(self, sentences: Sequence[Sentence]) -> list[tuple[Window, ...]]:
        """The window of each sentence."""
        places = [tuple(range(len(sentence.words))) for sentence in sentences]
        return [(Window(place, 0, place, place, n_before=0),) for place in places]


@dataclass(frozen=True, slots=True)
class TaggedWords:
    """The tag numbers of a sentence and the probabilities of all tags.
    *Shape:* ``probabilities`` (words, tags).
    """

    tag_ids: tuple[int, ...]
    probabilities: Tensor


def tag_sentences(tagger: WordTagger, sentences: Sequence[Sentence]) -> list[TaggedWords]:
    """The best tags of each sentence, in which ``I-`` only continues an entity, and the marginal
    probabilities under the same rule.
    """
    emissions = tagger.emissions(sentences)
    chain = tagger.chain.constrained(tagger.tag_set)
    tagged: dict[int, TaggedWords] = {}
    for positions in _batches([len(scores) for scores in emissions]):
        batch, is_word = padded([emissions[i] for i in positions])
        paths = best_paths(batch, is_word, chain)
        probabilities = marginals(batch, is_word, chain)  # (sentences, words, tags)
        for i, path, of_words in zip(positions, paths, probabilities, strict=True):
            tagged[i] = TaggedWords(tuple(path), of_words[: len(path)])
    return [tagged[i] for i in range(len(sentences))]


def padded(emissions: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Sentences of different lengths as one batch, and where it has words.
    *Shape:* (sentences, words, tags) and (sentences, words).
    """
    lengths = torch.tensor([len(sentence) for sentence in emissions])
    batch = torch.nn.utils.rnn.pad_sequence(list(emissions), batch_first=True)
    return batch, torch.arange(batch.shape[1]) < lengths.unsqueeze(1)


def _batches(n_words: Sequence[int]) -> Iterator[list[int]]:
    """Positions of sentences in batches of similar length."""
    batch: list[int] = []
    for position in sorted(range(len(n_words)), key=lambda i: n_words[i]):
        if batch and (len(batch) + 1) * n_words[position] > _MAX_WORDS:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def read_description(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """The JSON object of a tagger's file, which must have these keys."""
    try:
        description = json.loads(path.read_text("utf-8"))
    except OSError as problem:
        raise ModelError(f"{path}: cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise ModelError(f"{path}: cannot be parsed: {problem}") from problem
    if not isinstance(description, dict) or not set(keys) <= description.keys():
        raise ModelError(f"{path}: expected {', '.join(keys)}, found something else")
    return description


def read_weights(path: Path, names: Sequence[str]) -> dict[str, Tensor]:
    """The tensors of a tagger's file, which must have these names."""
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as problem:
        raise ModelError(f"{path}: cannot be read as safetensors: {problem}") from problem
    if not set(names) <= tensors.keys():
        raise ModelError(f"{path}: expected {', '.join(names)}, found {', '.join(tensors)}")
    return {name: tensors[name] for name in names}
