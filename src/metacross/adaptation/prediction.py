"""Finds the entities of sentences with a tagger as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from metacross.adaptation.retrieval import Neighbor
from metacross.model.tagger import Example, Tagger
from metacross.text.sentence import Sentence, Span


@dataclass(frozen=True, slots=True)
class Prediction:
    """The entities found in a sentence.

    ``scores`` holds for each span the mean probability of its words' tags; ``neighbors`` are the
    source sentences it was adapted to, none where it was not.
    """

    sentence: Sentence
    spans: tuple[Span, ...]
    scores: tuple[float, ...]
    neighbors: tuple[Neighbor, ...] = ()

    @property
    def labeled(self) -> Sentence:
        """The sentence with the found entities as its own."""
        return replace(self.sentence, spans=self.spans)


def plain_predictions(
    tagger: Tagger, sentences: Sequence[Sentence], *, batch_pieces: int
) -> list[Prediction]:
    """Label sentences without adapting to them, like lengths together."""
    examples = tagger.examples(sentences)
    order = sorted(range(len(examples)), key=lambda i: examples[i].n_pieces)
    found: dict[int, Prediction] = {}
    for positions in _batches(order, examples, batch_pieces):
        logits = label_logits(tagger, [examples[i] for i in positions])
        for position, own in zip(positions, logits, strict=True):
            found[position] = prediction_from(tagger, sentences[position], own)
    return [found[i] for i in range(len(sentences))]


@torch.no_grad()
def label_logits(tagger: Tagger, examples: Sequence[Example]) -> list[Tensor]:
    """The scores of all tags, for each sentence. *Shape:* each (words, tags)."""
    batch = tagger.batch(examples)
    n_words = torch.bincount(batch.sentence_of_word, minlength=batch.n_sentences)
    return list(torch.split(tagger.logits(batch).cpu(), n_words.tolist()))


def prediction_from(
    tagger: Tagger, sentence: Sentence, logits: Tensor, neighbors: Sequence[Neighbor] = ()
) -> Prediction:
    """Read the entities off the scores. *Shape:* logits (words, tags)."""
    best, tag_ids = logits.softmax(dim=1).max(dim=1)  # both (words,)
    spans = tagger.tag_set.spans(tag_ids.tolist())
    scores = tuple(best[span.start : span.end].mean().item() for span in spans)
    return Prediction(sentence, spans, scores, tuple(neighbors))


def _batches(
    order: Sequence[int], examples: Sequence[Example], batch_pieces: int
) -> Iterator[list[int]]:
    """Positions in the given order, cut so that a padded batch holds about as many pieces."""
    batch: list[int] = []
    n_windows = 0
    for position in order:
        windows = examples[position].windows
        longest = max(len(window) for window in windows)
        if batch and (n_windows + len(windows)) * longest > batch_pieces:
            yield batch
            batch, n_windows = [], 0
        batch.append(position)
        n_windows += len(windows)
    if batch:
        yield batch
