"""Finds gold labels that a model doubts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import Neighbor, SentencePrediction
from metacross.text.sentence import Sentence, Span
from metacross.text.tags import tags_from_spans


@dataclass(frozen=True, slots=True)
class Suspect:
    """Words whose gold labels a model doubts.

    Args:
        sentence: The sentence with its gold labels.
        gold: The gold entities at these words; empty: none.
        predicted: The entities that the model finds there.
        doubt: 1 minus the probability of the least probable gold tag of these words.
        neighbors: What the model learned its entities from.
    """

    sentence: Sentence
    gold: tuple[Span, ...]
    predicted: tuple[Span, ...]
    doubt: float
    neighbors: tuple[Neighbor, ...]


def find_suspects(
    model: NerModel,
    sentences: Sequence[Sentence],
    *,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> list[Suspect]:
    """Where a model finds other entities than the gold ones, the most doubtful first.

    Sentences that the model itself holds are labeled without adaptation: they would learn their own
    labels. Labels that the model does not know are not looked at.
    """
    known = [s for s in sentences if s.labeled and _labels(s) <= {*model.labels}]
    own = _own_words(model, {sentence.words for sentence in known})
    predictions = _predictions(model, [s for s in known if s.words not in own], None)
    predictions += _predictions(model, [s for s in known if s.words in own], False)
    by_sentence = {id(prediction.sentence): prediction for prediction in predictions}
    suspects: list[Suspect] = []
    for n_done, sentence in enumerate(known, start=1):
        suspects += _suspects_of(sentence, by_sentence[id(sentence)])
        progress(n_done)
    return sorted(suspects, key=lambda suspect: -suspect.doubt)


def _labels(sentence: Sentence) -> set[str]:
    return {span.label for span in sentence.spans or ()}


def _own_words(model: NerModel, wanted: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The words of those sentences that the model itself holds."""
    datastore = model.parts.datastore
    if datastore is None:
        return set()
    remembered = {item.sentence.words for item in datastore.remembered}
    source = {sentence.words for sentence in datastore.source if sentence.words in wanted}
    return source | remembered


def _predictions(
    model: NerModel, sentences: Sequence[Sentence], adapt: bool | None
) -> list[SentencePrediction]:
    return list(model.predict_stream(sentences, adapt=adapt)) if sentences else []


def _suspects_of(sentence: Sentence, prediction: SentencePrediction) -> list[Suspect]:
    """One suspect for each run of words where gold and prediction differ."""
    gold, predicted = set(sentence.spans or ()), set(prediction.spans)
    different = sorted((gold | predicted) - (gold & predicted))
    doubts = _doubts(sentence, prediction)
    suspects = []
    while different:
        group = [different.pop(0)]
        while different and different[0].start < max(span.end for span in group):
            group.append(different.pop(0))
        start, end = group[0].start, max(span.end for span in group)
        suspects.append(
            Suspect(
                sentence,
                tuple(span for span in group if span in gold),
                tuple(span for span in group if span in predicted),
                float(doubts[start:end].max()),
                prediction.neighbors,
            )
        )
    return suspects


def _doubts(sentence: Sentence, prediction: SentencePrediction) -> NDArray[np.float32]:
    """1 minus the probability of each word's gold tag. *Shape:* (words,)."""
    columns = {tag: column for column, tag in enumerate(prediction.tags)}
    tags = tags_from_spans(sentence.spans or (), len(sentence.words))
    gold = [columns[tag] for tag in tags]
    probabilities = prediction.probabilities[np.arange(len(gold)), gold]
    doubts: NDArray[np.float32] = 1 - probabilities
    return doubts
