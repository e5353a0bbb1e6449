"""What a model predicts: entities of sentences and of texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metacross.adaptation.prediction_html import html_of_entities
from metacross.model.decoding import Decoding, best_tags
from metacross.text.sentence import Sentence, Span
from metacross.text.tags import TagSet
from metacross.text.word_grouping import WordGroups


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity in a text.

    ``start`` and ``end`` are character offsets, half-open: ``text == source_text[start:end]``.
    ``start_word`` and ``end_word`` are the half-open range of its words in its sentence. ``score``
    is the mean probability of its words' tags.
    """

    text: str
    label: str
    start: int
    end: int
    start_word: int
    end_word: int
    score: float


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A source sentence that a sentence learned from, with its cosine similarity.

    ``position`` is its position in the source corpus. ``remembered`` is its id if it is not a
    source sentence, but one that the model remembers.
    """

    position: int
    similarity: float
    sentence: Sentence
    remembered: str | None = None


@dataclass(frozen=True, slots=True)
class SentencePrediction:
    """The entities found in a sentence.

    ``spans`` are ranges of the sentence's words; ``scores`` has the mean probability of each span's
    tags. ``neighbors`` are the source sentences that the model adapted to; empty without
    adaptation.

    Where the model reads several characters as one word, ``sentence`` and ``spans`` are in
    characters; each of them has the probabilities of its word.

    *Shape:* ``probabilities`` (words, tags), with the names of the columns in ``tags``.
    """

    sentence: Sentence
    spans: tuple[Span, ...]
    scores: tuple[float, ...]
    neighbors: tuple[Neighbor, ...] = ()
    tags: tuple[str, ...] = ()
    probabilities: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros((0, 0), np.float32), compare=False, repr=False
    )

    @property
    def labeled(self) -> Sentence:
        """The sentence with the entities that were found."""
        return self.sentence.with_spans(self.spans)

    def only(self, labels: Collection[str]) -> SentencePrediction:
        """Without the entities that have other labels."""
        kept = [
            (span, score)
            for span, score in zip(self.spans, self.scores, strict=True)
            if span.label in labels
        ]
        return replace(
            self, spans=tuple(span for span, _ in kept), scores=tuple(score for _, score in kept)
        )

    @property
    def source_languages(self) -> tuple[str | None, ...]:
        """The languages that the model learned from: those of the neighbors, most similar first."""
        return tuple(neighbor.sentence.language for neighbor in self.neighbors)

    @property
    def text(self) -> str:
        """The text of the sentence; words that were given as words are joined by blanks."""
        return self.sentence.laid_out().text

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The entities with their text and character offsets in :attr:`text`."""
        return tuple(self._entities(offset=0))

    def _entities(self, *, offset: int) -> Iterator[Entity]:
        layout = self.sentence.laid_out()
        for span, score in zip(self.spans, self.scores, strict=True):
            start, end = layout.offsets[span.start][0], layout.offsets[span.end - 1][1]
            yield Entity(
                text=layout.text[start:end],
                label=span.label,
                start=offset + start,
                end=offset + end,
                start_word=span.start,
                end_word=span.end,
                score=score,
            )

    def _repr_html_(self) -> str:
        """Colored entities, for notebooks."""
        return html_of_entities(self.text, [(e.start, e.end, e.label) for e in self.entities])


@dataclass(frozen=True, slots=True)
class Prediction:
    """The entities found in a text.

    ``sentences`` are the predictions of its sentences, and ``starts`` the character offsets at
    which they begin in ``text``.
    """

    text: str
    sentences: tuple[SentencePrediction, ...]
    starts: tuple[int, ...]

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The entities of all sentences, with character offsets in :attr:`text`."""
        pairs = zip(self.sentences, self.starts, strict=True)
        return tuple(
            entity for prediction, start in pairs for entity in prediction._entities(offset=start)
        )

    def _repr_html_(self) -> str:
        """Colored entities, for notebooks."""
        return html_of_entities(self.text, [(e.start, e.end, e.label) for e in self.entities])


def prediction_from_logits(
    sentence: Sentence,
    logits: Tensor,
    tag_set: TagSet,
    neighbors: Sequence[Neighbor] = (),
    *,
    groups: WordGroups | None = None,
    decoding: Decoding = "viterbi",
) -> SentencePrediction:
    """Read the entities off the scores of all tags.

    ``groups`` says which units of the sentence the scored words consist of; None: each unit is a
    word. *Shape:* logits (words, tags).
    """
    probabilities = logits.softmax(dim=1)  # (words, tags)
    tag_ids = best_tags(probabilities, decoding)
    spans = tag_set.spans(tag_ids)
    scores = scores_of_spans(spans, tag_ids, probabilities)
    if groups is not None:
        spans = groups.on_units(spans)
        probabilities = probabilities[list(groups.word_of_unit)]  # (units, tags)
    return SentencePrediction(
        sentence=sentence,
        spans=spans,
        scores=scores,
        neighbors=tuple(neighbors),
        tags=tag_set.tags,
        probabilities=probabilities.numpy(),
    )


def scores_of_spans(
    spans: Sequence[Span], tag_ids: Sequence[int], probabilities: Tensor
) -> tuple[float, ...]:
    """The mean probability of the tags of each span. *Shape:* probabilities (words, tags)."""
    of_tags = probabilities[torch.arange(len(tag_ids)), torch.tensor(tag_ids)]  # (words,)
    return tuple(of_tags[span.start : span.end].mean().item() for span in spans)
