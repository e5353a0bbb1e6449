"""Compares neighbors found with vectors of different encoders, for one trained model.

python -m benchmarks.neighbor_quality MODEL es/dev.txt --encoder mini --encoder FOLDER:mean:10

An encoder is named with its pooling and its number of layers, where they are not the default.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import metacross
from benchmarks.measuring import machine_line
from metacross.adaptation.ner_model import NerModel
from metacross.metrics.scoring import score
from metacross.model.datastore import Datastore
from metacross.model.encoder import Encoder, load_encoder, sentence_pooling
from metacross.model.model_folder import ModelParts, load_model
from metacross.model.sentence_encoder import SentenceEncoder
from metacross.text.sentence import Corpus, Sentence


def main() -> None:
    """Print a table: what neighbors have in common with the sentences, and what adapting brings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="folder of a model that adapts")
    parser.add_argument("corpus", help="labeled target sentences")
    parser.add_argument("--source", type=int, help="source sentences to use (all)")
    parser.add_argument("--encoder", action="append", required=True, metavar="NAME[:POOLING[:N]]")
    arguments = parser.parse_args()
    model = _with_source(load_model(arguments.model), arguments.source)
    corpus = metacross.read_corpus(arguments.corpus)
    sys.stdout.write(f"{machine_line()}\n")
    plain = NerModel(model).predict_stream(corpus, adapt=False)
    labeled = Corpus(tuple(prediction.labeled for prediction in plain))
    sys.stdout.write(f"not adapted: F1 {100 * score(corpus, labeled).overall.f1:.1f}\n")
    sys.stdout.write(
        "| neighbors by | same types | F1 | seconds for the vectors |\n|---|---|---|---|\n"
    )
    rng = random.Random(0)
    source = _datastore(model).source
    drawn = [[source[rng.randrange(len(source))] for _ in range(2)] for _ in corpus]
    sys.stdout.write(f"| chance | {_shared(corpus, drawn):.1f} % | | |\n")
    for name in arguments.encoder:
        for row in _row(model, corpus, name):
            sys.stdout.write(row)
            sys.stdout.flush()


def _with_source(model: ModelParts, n: int | None) -> ModelParts:
    """The model with its first ``n`` source sentences; None: with all of them."""
    whole = _datastore(model)
    source = Corpus(tuple(whole.source[i] for i in range(len(whole.source))[:n]))
    vectors = np.asarray(whole.vectors[: len(source)])
    return replace(model, datastore=replace(whole, source=source, vectors=vectors, remembered=()))


def _row(model: ModelParts, corpus: Corpus, name: str) -> Iterator[str]:
    datastore = _datastore(model)
    start = time.monotonic()
    outside, encoder = _encoders(model, name)
    vectors = encoder.vectors(datastore.source.sentences)
    seconds = time.monotonic() - start
    other = Datastore(datastore.source, vectors, encoder, None, outside)
    predictions = list(NerModel(replace(model, datastore=other)).predict_stream(corpus, adapt=True))
    neighbors = [
        [datastore.source[neighbor.position] for neighbor in prediction.neighbors]
        for prediction in predictions
    ]
    labeled = Corpus(tuple(prediction.labeled for prediction in predictions))
    f1 = 100 * score(corpus, labeled).overall.f1
    yield f"| {name} | {_shared(corpus, neighbors):.1f} % | {f1:.1f} | {seconds:.0f} |\n"


def _encoders(model: ModelParts, name: str) -> tuple[Encoder, SentenceEncoder]:
    path, _, options = name.partition(":")
    pooling, _, n_layers = options.partition(":")
    encoder = load_encoder(path, layers=int(n_layers) if n_layers else None)
    cutter = encoder.tokenizer.window_cutter(max_length=128, overlap=64)
    chosen = sentence_pooling(encoder.network, cutter.special, pooling or None)
    tagger = model.tagger
    network, grouper = encoder.network, tagger.word_grouper
    return encoder, SentenceEncoder(network, cutter, chosen, tagger.device, grouper)


def _datastore(model: ModelParts) -> Datastore:
    if model.datastore is None:
        raise SystemExit("expected a model with a datastore")
    return model.datastore


def _shared(corpus: Corpus, neighbors: Sequence[Sequence[Sentence]]) -> float:
    """Of the entity types that sentences and their neighbors have, how many per cent they have in
    common, averaged over neighbors; sentences without entities are left out.
    """
    shares = []
    for sentence, own_neighbors in zip(corpus, neighbors, strict=True):
        types = _types(sentence)
        if types:
            shares += [len(types & _types(n)) / len(types | _types(n)) for n in own_neighbors]
    return 100 * sum(shares) / len(shares)


def _types(sentence: Sentence) -> set[str]:
    return {span.label for span in sentence.spans or ()}


if __name__ == "__main__":
    main()
