"""Labels sentences with a tagger as it is, without adaptation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from metacross.adaptation.prediction import SentencePrediction, prediction_from_logits
from metacross.metrics.scoring import Score, counts_by_sentence
from metacross.model.batching import length_batches
from metacross.model.decoding import Decoding
from metacross.model.ranks import ALONE, Ranks
from metacross.model.tagger import Example, Tagger
from metacross.text.sentence import Corpus, Sentence


def plain_predictions(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    examples: Sequence[Example],
    *,
    batch_pieces: int,
    decoding: Decoding = "viterbi",
) -> list[SentencePrediction]:
    """Label sentences in batches of similar length. ``examples`` are the tokenized sentences."""
    batches = _batches(examples, batch_pieces)
    predictions = _by_position(tagger, sentences, examples, batches, decoding)
    return [predictions[i] for i in range(len(sentences))]


def _batches(examples: Sequence[Example], batch_pieces: int) -> list[list[int]]:
    windows = [example.windows for example in examples]
    return length_batches(windows, max_pieces=batch_pieces)


def _by_position(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    examples: Sequence[Example],
    batches: Sequence[Sequence[int]],
    decoding: Decoding = "viterbi",
) -> dict[int, SentencePrediction]:
    """Predictions for the sentences at the positions of some batches."""
    predictions: dict[int, SentencePrediction] = {}
    for positions in batches:
        logits = label_logits(tagger, [examples[i] for i in positions])
        for position, sentence_logits in zip(positions, logits, strict=True):
            predictions[position] = prediction_from_logits(
                sentences[position],
                sentence_logits,
                tagger.tag_set,
                groups=examples[position].groups,
                decoding=decoding,
            )
    return predictions


@torch.no_grad()
def label_logits(tagger: Tagger, examples: Sequence[Example]) -> list[Tensor]:
    """The scores of all tags, for each sentence. *Shape:* each (words, tags)."""
    batch = tagger.batch(examples)
    n_words = torch.bincount(batch.sentence_of_word, minlength=batch.n_sentences)
    return list(torch.split(tagger.logits(batch).cpu(), n_words.tolist()))


class CorpusLabeler:
    """Labels corpora again and again while a tagger is trained; each is tokenized only once."""

    def __init__(self, tagger: Tagger, *, batch_pieces: int) -> None:
        self._tagger = tagger
        self._batch_pieces = batch_pieces
        self._tokenized: dict[int, tuple[Corpus, list[Example]]] = {}

    def __call__(self, corpus: Corpus) -> list[SentencePrediction]:
        """Predictions with the tagger's weights of this moment."""
        return plain_predictions(
            self._tagger, corpus.sentences, self._examples(corpus), batch_pieces=self._batch_pieces
        )

    def f1(self, gold: Corpus, ranks: Ranks = ALONE) -> float:
        """The F1 of such predictions. Processes share out the sentences and add up their counts."""
        examples = self._examples(gold)
        own = _batches(examples, self._batch_pieces)[ranks.rank :: ranks.size]
        predictions = _by_position(self._tagger, gold.sentences, examples, own)
        labeled = Corpus(tuple(prediction.labeled for prediction in predictions.values()))
        counts = counts_by_sentence(Corpus(tuple(gold[i] for i in predictions)), labeled)
        return Score(*ranks.added(counts.reshape(-1, 3).sum(axis=0).tolist())).f1

    def _examples(self, corpus: Corpus) -> list[Example]:
        if id(corpus) not in self._tokenized:
            self._tokenized[id(corpus)] = (corpus, self._tagger.inputs(corpus))
        return self._tokenized[id(corpus)][1]
