"""Whether models differ in what they know or only in how readily they find entities.

python -m benchmarks.outside_bias zh/dev.txt MODEL MODEL --bias 0 --bias -1

Adds a constant to the score of the tag O, without adaptation: below zero, more entities are found.
"""

from __future__ import annotations

import argparse
import sys

import torch

import metacross
from benchmarks.measuring import machine_line
from metacross.metrics.scoring import score
from metacross.model.word_states import output_layer
from metacross.text.sentence import Corpus
from metacross.text.tags import OUTSIDE


def main() -> None:
    """Print a table: precision, recall and F1 of each model for each constant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", help="labeled target sentences")
    parser.add_argument("models", nargs="+", help="model folders")
    parser.add_argument("--bias", type=float, action="append", required=True)
    arguments = parser.parse_args()
    corpus = metacross.read_corpus(arguments.corpus)
    sys.stdout.write(f"{machine_line()}\n")
    sys.stdout.write("| model | added to O | precision | recall | F1 | entities |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for model in arguments.models:
        for bias in arguments.bias:
            sys.stdout.write(_row(model, corpus, bias))
            sys.stdout.flush()


def _row(folder: str, corpus: Corpus, bias: float) -> str:
    model = metacross.load(folder)
    tagger = model.parts.tagger
    with torch.no_grad():
        output_layer(tagger.network).bias[tagger.tag_set.tags.index(OUTSIDE)] += bias
    known = frozenset(corpus.entities_by_label)
    predictions = [
        prediction.only(known) for prediction in model.predict_stream(corpus, adapt=False)
    ]
    scores = score(corpus, Corpus(tuple(p.labeled for p in predictions))).overall
    n_entities = sum(len(prediction.spans) for prediction in predictions)
    return (
        f"| {folder} | {bias:g} | {100 * scores.precision:.1f} | {100 * scores.recall:.1f} | "
        f"{100 * scores.f1:.1f} | {n_entities:,} |\n"
    )


if __name__ == "__main__":
    main()
