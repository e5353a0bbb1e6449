"""Judges an encoder by how often it finds the sentence that another one translates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metacross.adaptation.retrieval import SentenceIndex
from metacross.model.devices import resolve_device
from metacross.model.encoder import load_encoder
from metacross.model.sentence_encoder import SentenceEncoder
from metacross.text.sentence import Sentence
from tools.mini_encoder.random_weights import randomize

_LONGEST_WINDOW = 512


def retrieval_probe(
    encoder: str,
    pairs: Mapping[str, Sequence[tuple[Sentence, Sentence]]],
    *,
    seed: int,
    random_weights: bool = False,
) -> dict[str, float]:
    """By language, the share of translations whose nearest English sentence is the right one, by
    the cosine of the first pieces' last states. ``random_weights`` is the control.
    """
    opened = load_encoder(encoder)
    if random_weights:
        randomize(opened.network, seed)
    window_cutter = opened.tokenizer.window_cutter(longest=_LONGEST_WINDOW, overlap=0)
    vectorizer = SentenceEncoder(opened.network, window_cutter, "cls", resolve_device("auto"))
    shares = {}
    for language, own in pairs.items():
        index = SentenceIndex(vectorizer.vectors([english for english, _ in own]))
        queries = vectorizer.vectors([translated for _, translated in own])
        found = index.nearest(queries, k=1)
        right = sum(nearest.position == i for i, (nearest,) in enumerate(found))
        shares[language] = right / len(own)
    return shares
