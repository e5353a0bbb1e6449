"""Systems that choose or weigh what a student learns, and one that asks the nearest words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metacross.adaptation.nearest_words import NearestWordsModel
from metacross.adaptation.ner_model import NerModel
from metacross.baselines.label_consistency import word_weights
from metacross.baselines.pseudo_labels import pseudo_label
from metacross.baselines.workshop import Fit, Workshop, merged, soft_sentences
from metacross.training.adversarial import least_telling
from metacross.training.distillation import SoftSentence


def _advpicker(shop: Workshop) -> NerModel:
    trained = shop.adversarial(shop.stage("adversarial"))
    probabilities = trained.target_probabilities(shop.raw_text.sentences)
    kept = least_telling(probabilities, shop.settings.adversary.keep)
    sentences = soft_sentences(shop.labeled_by(trained.model))
    return shop.student([sentences[position] for position in kept], shop.folder)


def _colada(shop: Workshop) -> NerModel:
    """Two models label for each other: one on translated text, one on raw text."""
    consistency = shop.settings.consistency
    model = shop.direct_on_source()
    for number in range(consistency.rounds):
        hard_weight = consistency.hard_weights[min(number, len(consistency.hard_weights) - 1)]
        further = shop.student(
            _refined_translation(shop, model, hard_weight),
            shop.stage(f"translated-{number + 1}"),
            start=model,
        )
        is_last = number + 1 == consistency.rounds
        folder = shop.folder if is_last else shop.stage(f"raw-{number + 1}")
        model = shop.student(_weighted_raw_text(shop, further), folder)
    return model


def _refined_translation(shop: Workshop, model: NerModel, hard_weight: float) -> list[SoftSentence]:
    """Translated text: its labels, mixed with what a model predicts, as far as that is sure."""
    corpus, tag_set = shop.translated, model.tagger.tag_set
    predicted = pseudo_label(model, corpus)
    weights = word_weights(model, predicted.hard.sentences, shop.settings)
    refined = []
    for sentence, prediction, of_words in zip(corpus, predicted.predictions, weights, strict=True):
        n_words = len(sentence.words)
        hard = one_hot(tag_set.ids(sentence.spans or (), n_words), len(tag_set))
        soft = (1 - hard_weight) * of_words[:, None]  # (words, 1)
        mixed = (hard_weight * hard + soft * prediction.probabilities) / (hard_weight + soft)
        refined.append(SoftSentence(sentence.with_spans(None), mixed.astype(np.float32)))
    return refined


def _weighted_raw_text(shop: Workshop, model: NerModel) -> list[SoftSentence]:
    """Raw text with a model's labels, weighted by their consistency."""
    labels, tag_set = shop.labeled_by(model), model.tagger.tag_set
    weights = word_weights(model, labels.hard.sentences, shop.settings)
    weighted = []
    for sentence, of_words in zip(labels.hard, weights, strict=True):
        tag_ids = tag_set.ids(sentence.spans or (), len(sentence.words))
        probabilities = one_hot(tag_ids, len(tag_set))
        weighted.append(SoftSentence(sentence.with_spans(None), probabilities, tag_ids, of_words))
    return weighted


def one_hot(tag_ids: Sequence[int], n_tags: int) -> NDArray[np.float32]:
    """1 for the tag of each word, 0 for the others. *Shape:* (words, tags)."""
    return np.eye(n_tags, dtype=np.float32)[list(tag_ids)]


def _knn(shop: Workshop) -> NerModel:
    corpus = merged(shop.source, *shop.target_texts)
    model = NearestWordsModel.of(shop.direct_on_source(), corpus, shop.settings)
    model.save(shop.folder)
    return model


SELECTION_FITS: dict[str, Fit] = {
    "advpicker": _advpicker,
    "colada": _colada,
    "knn": _knn,
}
