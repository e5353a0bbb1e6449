"""Labels sentences with a tagger as it is, without adaptation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from metacross.adaptation.prediction import SentencePrediction, prediction_from_logits
from metacross.model.batching import length_batches
from metacross.model.tagger import Example, Tagger
from metacross.text.sentence import Corpus, Sentence


def plain_predictions(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    examples: Sequence[Example],
    *,
    batch_pieces: int,
) -> list[SentencePrediction]:
    """Label sentences in batches of similar length. ``examples`` are the tokenized sentences."""
    windows = [example.windows for example in examples]
    predictions: dict[int, SentencePrediction] = {}
    for positions in length_batches(windows, max_pieces=batch_pieces):
        logits = label_logits(tagger, [examples[i] for i in positions])
        for position, sentence_logits in zip(positions, logits, strict=True):
            predictions[position] = prediction_from_logits(
                sentences[position],
                sentence_logits,
                tagger.tag_set,
                groups=examples[position].groups,
            )
    return [predictions[i] for i in range(len(sentences))]


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
        if id(corpus) not in self._tokenized:
            self._tokenized[id(corpus)] = (corpus, self._tagger.inputs(corpus))
        _, examples = self._tokenized[id(corpus)]
        return plain_predictions(
            self._tagger, corpus.sentences, examples, batch_pieces=self._batch_pieces
        )
