"""Models of two sizes, and sentences with their neighbors to measure them on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from transformers import BertConfig, BertForTokenClassification

from metacross.adaptation.retrieval import SentenceIndex
from metacross.model.datastore import Datastore
from metacross.model.encoder import load_encoder, new_tagger_network
from metacross.model.model_folder import ModelParts
from metacross.model.sentence_encoder import SentenceEncoder, Vectors, pretrained_twin
from metacross.model.tagger import Example, Tagger
from metacross.model.tokenizer import load_tokenizer
from metacross.settings import Settings, load_settings
from metacross.text.bundled_corpus import TARGETS, bundled_corpus
from metacross.text.sentence import Sentence
from metacross.text.tags import TagSet
from metacross.training.tasks import Task, pseudo_tasks

SIZES = ("mini", "mbert")
TAG_SET = TagSet(("PER", "LOC", "ORG", "MISC"))


@dataclass(frozen=True, slots=True)
class Workload:
    """A tagger, foreign sentences with their supports, and tasks of meta-training."""

    tagger: Tagger
    settings: Settings
    source: Sequence[Example]
    tests: Sequence[Example]
    supports: Sequence[dict[int, Example]]
    tasks: Sequence[Task]

    def evenly_spread(self, n: int) -> list[int]:
        """``n`` positions of test sentences, spread evenly from the shortest to the longest."""

        def n_pieces(i: int) -> int:
            support = sum(example.n_pieces for example in self.supports[i].values())
            return self.tests[i].n_pieces + support

        order = sorted(range(len(self.tests)), key=n_pieces)
        return [order[int((i + 0.5) * len(order) / n)] for i in range(n)]


def workload(size: str, *, neighbors: int = 2) -> Workload:
    """The bundled corpus with a tagger of a size. The neighbors are always those that the bundled
    encoder finds.
    """
    tagger, settings = new_tagger(size)
    sentences = foreign_sentences()
    neighbors_by_test = SentenceIndex(_vectors("en")).nearest(_vectors("foreign"), k=neighbors)
    source = tagger.examples(bundled_corpus("en", "train"))
    return Workload(
        tagger=tagger,
        settings=settings,
        source=source,
        tests=tagger.examples(sentences),
        supports=[
            {neighbor.position: source[neighbor.position] for neighbor in test_neighbors}
            for test_neighbors in neighbors_by_test
        ],
        tasks=pseudo_tasks(_vectors("en"), settings.retrieval),
    )


def new_tagger(size: str) -> tuple[Tagger, Settings]:
    """A tagger on the bundled encoder, or on random weights in the shape of multilingual BERT (177
    million parameters).
    """
    settings = load_settings("mini" if size == "mini" else "paper", ["run.device=cpu"])
    config = BertConfig(vocab_size=119_547)
    config.num_labels = len(TAG_SET.tags)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = (
            new_tagger_network("mini", TAG_SET.tags, 0)
            if size == "mini"
            else BertForTokenClassification(config)  # type: ignore[no-untyped-call]
        )
    network.eval()
    return Tagger(
        network, load_tokenizer("mini"), TAG_SET, settings.encoder, settings.run
    ), settings


def new_model(size: str, retrieval: Literal["none", "bundled", "pretrained"]) -> ModelParts:
    """A model without datastore, or one that retrieves with the bundled encoder or, as after a
    training, with the tagger's encoder as pre-trained.
    """
    tagger, settings = new_tagger(size)
    source = bundled_corpus("en", "train")
    datastore = None
    if retrieval == "bundled":
        datastore = Datastore(
            source, _vectors("en"), _sentence_encoder(), None, load_encoder("mini")
        )
    elif retrieval == "pretrained":
        pretrained = {name: weight.detach().clone() for name, weight in tagger.trainable.items()}
        twin = pretrained_twin(tagger.network, pretrained)
        encoder = SentenceEncoder(twin, tagger.window_cutter, "cls", tagger.device)
        datastore = Datastore(source, encoder.vectors(source.sentences), encoder, pretrained, None)
    return ModelParts(tagger, settings, datastore, adapts=True)


def foreign_sentences() -> list[Sentence]:
    """The bundled test sentences of all languages, shuffled."""
    sentences = [sentence for language in TARGETS for sentence in bundled_corpus(language, "test")]
    random.Random(0).shuffle(sentences)
    return sentences


@cache
def _sentence_encoder() -> SentenceEncoder:
    encoder = load_encoder("mini")
    window_cutter = encoder.tokenizer.window_cutter(max_length=128, overlap=64)
    return SentenceEncoder(encoder.network, window_cutter, "cls", torch.device("cpu"))


@cache
def _vectors(part: str) -> Vectors:
    sentences = bundled_corpus("en", "train").sentences if part == "en" else foreign_sentences()
    return _sentence_encoder().vectors(sentences)
