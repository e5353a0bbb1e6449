"""A BiLSTM over word vectors and characters, with self-attention and a CRF (after Xie et al.
2018), or with parts that it shares with the networks of other languages and tasks (after Yang et
al. 2017 and Lin et al. 2018).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from metacross.baseline_settings import BilstmCrfSettings
from metacross.errors import ModelError
from metacross.model.crf import Chain, CrfLayer
from metacross.model.devices import seeded
from metacross.model.shared_layers import CharacterCnn, GatedLinear
from metacross.model.word_tagger import WordTagger, read_description, read_weights
from metacross.text.sentence import Sentence
from metacross.text.tags import TagSet
from metacross.text.word_vectors import WordVectors

_WEIGHTS, _DESCRIPTION = "bilstm_crf.safetensors", "bilstm_crf.json"
_UNKNOWN = 0  # also padding: its vector is zero
_LONGEST_WORD = 30  # characters; the rest is not read


@dataclass(frozen=True)
class Vocabulary:
    """The words that have a vector, looked up as they are, then in lower case; and characters."""

    words: tuple[str, ...]
    characters: tuple[str, ...]

    @classmethod
    def of(cls, vectors: WordVectors, sentences: Iterable[Sentence]) -> Vocabulary:
        """The words of the vectors, the characters of sentences."""
        characters = {c for sentence in sentences for word in sentence.words for c in word}
        return cls(vectors.words, tuple(sorted(characters)))

    def inputs(self, sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor, Tensor]:
        """The inputs of a network: numbers of words, numbers of characters, where there are words.
        *Shape:* (sentences, words), (sentences, words, characters), (sentences, words).
        """
        word_ids = pad_sequence(
            [torch.tensor([self._word_id(w) for w in s.words]) for s in sentences],
            batch_first=True,
        )  # (sentences, words)
        lengths = torch.tensor([len(sentence.words) for sentence in sentences])
        is_word = torch.arange(word_ids.shape[1]) < lengths.unsqueeze(1)
        spellings = [self._spelling(word) for sentence in sentences for word in sentence.words]
        spelled = pad_sequence(spellings, batch_first=True)  # (all words, characters)
        character_ids = spelled.new_zeros(*word_ids.shape, spelled.shape[1])
        character_ids[is_word] = spelled
        return word_ids, character_ids, is_word

    @cached_property
    def _word_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words, start=1)}

    @cached_property
    def _character_ids(self) -> dict[str, int]:
        return {c: i for i, c in enumerate(self.characters, start=1)}

    def _word_id(self, word: str) -> int:
        return self._word_ids.get(word) or self._word_ids.get(word.lower(), _UNKNOWN)

    def _spelling(self, word: str) -> Tensor:
        """The numbers of the known characters: one that is unknown would look like padding."""
        known = (self._character_ids.get(c) for c in word[:_LONGEST_WORD])
        return torch.tensor([number for number in known if number is not None] or [0])


def vector_table(vectors: WordVectors) -> Tensor:
    """The vectors in the order of a vocabulary's numbers. *Shape:* (words + 1, width)."""
    matrix = torch.from_numpy(vectors.matrix)
    return torch.cat([matrix.new_zeros(1, matrix.shape[1]), matrix])


class BilstmCrfNetwork(nn.Module):
    """Word vectors and a character BiLSTM, a word BiLSTM, self-attention, a linear layer, a CRF.

    Word vectors stay as given. With ``character_filters`` characters are read by as many filters
    of each width instead; None: by the BiLSTM. With ``gated`` the linear layer is a mixture of one
    of its own and one that other networks can share.
    """

    def __init__(
        self,
        vectors: Tensor,
        n_characters: int,
        n_tags: int,
        settings: BilstmCrfSettings,
        *,
        character_filters: int | None = None,
        gated: bool = False,
    ) -> None:
        super().__init__()
        states, of_characters = settings.states, settings.character_states
        self.sizes: dict[str, int | None] = {
            "character_width": settings.character_width,
            "character_states": of_characters,
            "states": states,
            "attention": settings.attention,
            "character_filters": character_filters,
            "gated": gated,
        }
        self.register_buffer("vectors", vectors)
        self.characters = nn.Embedding(n_characters + 1, settings.character_width, padding_idx=0)
        self.character_lstm: nn.LSTM | None = None
        self.character_cnn: CharacterCnn | None = None
        if character_filters is None:
            self.character_lstm = nn.LSTM(
                settings.character_width, of_characters, bidirectional=True, batch_first=True
            )
            spelling_width = 2 * of_characters
        else:
            self.character_cnn = CharacterCnn(settings.character_width, character_filters)
            spelling_width = self.character_cnn.width
        width = vectors.shape[1] + spelling_width
        self.lstm = nn.LSTM(width, states, bidirectional=True, batch_first=True)
        self.query = nn.Linear(2 * states, 2 * states) if settings.attention else None
        self.dropout = nn.Dropout(settings.dropout)
        output_width = (4 if settings.attention else 2) * states
        self.output: GatedLinear | nn.Linear = (
            GatedLinear(output_width, n_tags) if gated else nn.Linear(output_width, n_tags)
        )
        self.crf = CrfLayer(n_tags)

    def share_characters(self, other: BilstmCrfNetwork) -> None:
        """Read characters with the weights of another network (Yang et al. 2017)."""
        self.characters = other.characters
        self.character_lstm, self.character_cnn = other.character_lstm, other.character_cnn

    def share_words(self, other: BilstmCrfNetwork) -> None:
        """Read characters and words with the weights of another network (Lin et al. 2018)."""
        self.share_characters(other)
        self.lstm = other.lstm

    def share_tags(self, other: BilstmCrfNetwork) -> None:
        """Score tags with the CRF of another network of the same task, and with the shared part of
        its gated layer (Lin et al. 2018).
        """
        self.crf = other.crf
        if isinstance(self.output, GatedLinear) and isinstance(other.output, GatedLinear):
            self.output.shared = other.output.shared

    def forward(self, word_ids: Tensor, character_ids: Tensor, is_word: Tensor) -> Tensor:
        """The scores of all tags. *Shape:* word_ids and is_word (sentences, words), character_ids
        (sentences, words, characters), result (sentences, words, tags).
        """
        vectors: Tensor = self.get_buffer("vectors")
        spelled = self._spelled(character_ids[is_word])  # (all words, spelling width)
        words = self.dropout(torch.cat([vectors[word_ids[is_word]], spelled], dim=1))
        lengths = is_word.sum(dim=1).cpu()
        packed = pack_padded_sequence(
            _by_sentence(words, is_word), lengths, batch_first=True, enforce_sorted=False
        )
        padded, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        states = self.dropout(padded[is_word])  # (all words, 2 * states)
        if self.query is not None:
            context = self._context(states, is_word)[is_word]  # (all words, 2 * states)
            states = torch.cat([states, self.dropout(context)], dim=1)
        return _by_sentence(self.output(states), is_word)

    def _spelled(self, character_ids: Tensor) -> Tensor:
        """What the character layers read: the last states of the LSTM, both ways, or the maxima of
        the filters. *Shape:* (words, characters), result (words, spelling width).
        """
        characters = self.characters(character_ids)  # (words, characters, character width)
        if self.character_cnn is not None:
            of_words: Tensor = self.character_cnn(characters)
            return of_words
        if self.character_lstm is None:
            raise ValueError("expected a network that reads characters")
        lengths = (character_ids > 0).sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(characters, lengths, batch_first=True, enforce_sorted=False)
        _, (last, _) = self.character_lstm(packed)  # (2, words, states)
        return torch.cat([last[0], last[1]], dim=1)

    def _context(self, states: Tensor, is_word: Tensor) -> Tensor:
        """The mean of the other words' states, weighted by similarity; zero for a single word.
        *Shape:* states (all words, width), result (sentences, words, width).
        """
        if self.query is None:
            raise ValueError("expected a network with attention")
        queries = _by_sentence(torch.tanh(self.query(states)), is_word)
        similarity = queries @ queries.transpose(1, 2)  # (sentences, words, words)
        itself = torch.eye(is_word.shape[1], dtype=torch.bool, device=states.device)
        hidden = itself | ~is_word.unsqueeze(1)
        weights = similarity.masked_fill(hidden, -torch.inf).softmax(dim=2)
        return weights.nan_to_num(0.0) @ _by_sentence(states, is_word)


def _by_sentence(of_words: Tensor, is_word: Tensor) -> Tensor:
    """Rows of words, in their places of the sentences; the rest is zero. *Shape:* of_words (all
    words, width), is_word (sentences, words), result (sentences, words, width).
    """
    rows = of_words.new_zeros(*is_word.shape, of_words.shape[1])
    rows[is_word] = of_words
    return rows


class BilstmCrf(WordTagger):
    """A trained network with its vocabulary."""

    kind: ClassVar[str] = "bilstm-crf"

    def __init__(self, network: BilstmCrfNetwork, vocabulary: Vocabulary, tag_set: TagSet) -> None:
        self.module = network
        self.vocabulary = vocabulary
        self._tag_set = tag_set

    @classmethod
    def new(
        cls,
        vectors: WordVectors,
        sentences: Iterable[Sentence],
        tag_set: TagSet,
        settings: BilstmCrfSettings,
        *,
        seed: int,
    ) -> BilstmCrf:
        """An untrained network for some word vectors and the characters of ``sentences``."""
        vocabulary = Vocabulary.of(vectors, sentences)
        n_characters, table = len(vocabulary.characters), vector_table(vectors)
        with seeded(seed):
            network = BilstmCrfNetwork(table, n_characters, len(tag_set), settings)
        return cls(network, vocabulary, tag_set)

    def with_vectors(self, vectors: WordVectors) -> BilstmCrf:
        """The same network with other word vectors of the same space."""
        network = copy.deepcopy(self.module)
        network.vectors = vector_table(vectors)
        return BilstmCrf(network, replace(self.vocabulary, words=vectors.words), self._tag_set)

    @property
    def tag_set(self) -> TagSet:
        """The tags that it knows."""
        return self._tag_set

    @property
    def chain(self) -> Chain:
        """The scores of tags that follow each other."""
        chain = self.module.crf.chain
        return Chain(chain.transitions.detach(), chain.starts.detach(), chain.ends.detach())

    @torch.no_grad()
    def emissions(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """The scores of all tags, for each sentence. *Shape:* each (words, tags)."""
        self.module.eval()
        scores: dict[int, Tensor] = {}
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i].words))
        for start in range(0, len(order), 64):
            positions = order[start : start + 64]
            batch = self.module(*self.vocabulary.inputs([sentences[i] for i in positions]))
            for i, of_words in zip(positions, batch, strict=True):
                scores[i] = of_words[: len(sentences[i].words)]
        return [scores[i] for i in range(len(sentences))]

    def write(self, folder: Path) -> None:
        """Write the network's weights, its vocabulary and its sizes."""
        tensors = {name: t.detach().contiguous() for name, t in self.module.state_dict().items()}
        save_file(tensors, folder / _WEIGHTS)
        description = {
            "words": self.vocabulary.words,
            "characters": self.vocabulary.characters,
            **self.module.sizes,
        }
        text = json.dumps(description, ensure_ascii=False) + "\n"
        (folder / _DESCRIPTION).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path, tag_set: TagSet) -> BilstmCrf:
        """Read what :meth:`write` wrote."""
        sizes = ("character_width", "character_states", "states", "attention")
        description = read_description(folder / _DESCRIPTION, ("words", "characters", *sizes))
        settings = BilstmCrfSettings(**{size: description[size] for size in sizes})
        vocabulary = Vocabulary(tuple(description["words"]), tuple(description["characters"]))
        network = BilstmCrfNetwork(
            read_weights(folder / _WEIGHTS, ("vectors",))["vectors"],
            len(vocabulary.characters),
            len(tag_set),
            settings,
            character_filters=description.get("character_filters"),  # earlier files have neither
            gated=description.get("gated", False),
        )
        weights = read_weights(folder / _WEIGHTS, tuple(network.state_dict()))
        try:
            network.load_state_dict(weights)
        except RuntimeError as problem:
            raise ModelError(
                f"{folder / _WEIGHTS}: expected the network's weights: {problem}"
            ) from problem
        return cls(network.eval(), vocabulary, tag_set)
