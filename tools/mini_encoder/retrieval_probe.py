"""Measures how often an encoder finds the English sentence that a sentence is a translation of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metacross.adaptation.retrieval import SentenceIndex
from metacross.model.devices import resolve_device
from metacross.model.encoder import load_encoder
from metacross.model.sentence_encoder import SentenceEncoder
from metacross.text.sentence import Sentence
from tools.mini_encoder.random_weights import randomize

_MAX_LENGTH = 512


def retrieval_probe(
    encoder: str,
    pairs: Mapping[str, Sequence[tuple[Sentence, Sentence]]],
    *,
    seed: int,
    random_weights: bool = False,
) -> dict[str, float]:
    """The accuracy by language: the fraction of translations whose nearest English sentence, by
    the cosine of the ``[CLS]`` states, is the right one.

    ``random_weights`` replaces the weights of the encoder by random ones, as a control.
    """
    loaded = load_encoder(encoder)
    if random_weights:
        randomize(loaded.network, seed)
    window_cutter = loaded.tokenizer.window_cutter(max_length=_MAX_LENGTH, overlap=0)
    sentence_encoder = SentenceEncoder(loaded.network, window_cutter, "cls", resolve_device("auto"))
    accuracies = {}
    for language, language_pairs in pairs.items():
        english, translations = zip(*language_pairs, strict=True)
        index = SentenceIndex(sentence_encoder.vectors(english))
        neighbors = index.nearest(sentence_encoder.vectors(translations), k=1)
        n_correct = sum(nearest.position == i for i, (nearest,) in enumerate(neighbors))
        accuracies[language] = n_correct / len(language_pairs)
    return accuracies
