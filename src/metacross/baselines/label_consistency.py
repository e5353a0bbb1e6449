"""Weights of labeled words by how far similar words have the same label (after CoLaDa)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.textbook import dropout
from metacross.baseline_settings import ConsistencySettings
from metacross.model.word_states import WordStore, kept_words, states_of_sentences
from metacross.settings import Settings
from metacross.text.sentence import Sentence

_COPY = 1 - 1e-5  # a cosine above it: the same word in the same sentence


def word_weights(
    model: NerModel, sentences: Sequence[Sentence], settings: Settings
) -> list[NDArray[np.float32]]:
    """The weight of every word of labeled sentences, by the states of a model.
    *Shape:* each (words,).
    """
    tagger = model.tagger
    examples = tagger.examples(sentences)
    with dropout(tagger, enabled=False):
        states = states_of_sentences(tagger, examples, batch_pieces=settings.run.batch_pieces)
    tag_ids = torch.tensor([tag_id for e in examples for tag_id in e.tag_ids or ()])
    type_ids = (tag_ids + 1) // 2  # 0 for O; B and I of a type are the same
    weights = consistency_weights(
        torch.cat(states), type_ids, settings.consistency, seed=settings.run.seed
    )
    by_sentence = torch.split(weights, [len(of_words) for of_words in states])
    return [
        (rows if e.groups is None else rows[list(e.groups.word_of_unit)]).numpy()
        for e, rows in zip(examples, by_sentence, strict=True)
    ]


def consistency_weights(
    states: Tensor, type_ids: Tensor, settings: ConsistencySettings, *, seed: int
) -> Tensor:
    """The weight of every word.

    Its consistency is the share of its nearest words that have the same type. A weight rises in an
    S-shape from words that are less consistent than the mean of their type to those that are more;
    the largest of each type is 1. *Shape:* states (words, width), of length 1, the others (words,).
    """
    kept = kept_words(type_ids, outside_fraction=settings.outside_fraction, seed=seed)
    store = WordStore(states[kept], type_ids[kept], 1.0)
    # One more, because a word can be its own neighbor.
    cosines, places = store.nearest(states, settings.neighbors + 1)
    counts = cosines < _COPY  # (words, neighbors + 1)
    same = (store.tag_ids[places] == type_ids.unsqueeze(1)) & counts
    consistency = same.sum(dim=1) / counts.sum(dim=1).clamp(min=1)
    weights = torch.ones(len(states))
    for type_id in range(int(type_ids.max()) + 1):
        members = type_ids == type_id
        if not members.any():
            continue
        share = consistency[members] / consistency[members].max().clamp(min=1e-8)
        raised = torch.sigmoid(settings.steepness * (share - share.mean()))
        weights[members] = raised / raised.max()
    return weights
