"""Taggers of two sizes, and sentences with their real neighbors to adapt them to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from transformers import BertConfig, BertForTokenClassification

from metacross.adaptation.retrieval import SentenceIndex
from metacross.model.encoder import load_encoder, load_tokenizer, new_tagger_network
from metacross.model.model_folder import Datastore, ModelParts
from metacross.model.sentence_encoder import SentenceEncoder, Vectors, pretrained_twin
from metacross.model.tagger import Example, Tagger
from metacross.settings import Settings, load_settings
from metacross.text.bundled_corpus import TARGETS, bundled_corpus
from metacross.text.sentence import Sentence
from metacross.text.tags import TagSet
from metacross.training.tasks import Task, pseudo_tasks

SIZES = ("mini", "mbert")
TYPES = TagSet(("PER", "LOC", "ORG", "MISC"))


@dataclass(frozen=True, slots=True)
class Work:
    """A tagger, foreign sentences, the supports they retrieve, and tasks of meta-training."""

    tagger: Tagger
    settings: Settings
    source: Sequence[Example]
    tests: Sequence[Example]
    supports: Sequence[dict[int, Example]]
    tasks: Sequence[Task]

    def spread(self, n: int) -> list[int]:
        """Numbers of test sentences, from the shortest to the longest, evenly."""

        def n_pieces(i: int) -> int:
            support = sum(example.n_pieces for example in self.supports[i].values())
            return self.tests[i].n_pieces + support

        order = sorted(range(len(self.tests)), key=n_pieces)
        return [order[int((i + 0.5) * len(order) / n)] for i in range(n)]


def work(size: str, *, neighbors: int = 2) -> Work:
    """The bundled corpus, with the tagger of a size. The neighbors are those that the bundled
    encoder finds, whatever the tagger.
    """
    tagger, settings = new_tagger(size)
    sentences = foreign_sentences()
    found = SentenceIndex(_vectors("en")).nearest(_vectors("foreign"), k=neighbors)
    source = tagger.examples(bundled_corpus("en", "train"))
    return Work(
        tagger=tagger,
        settings=settings,
        source=source,
        tests=tagger.examples(sentences),
        supports=[{n.position: source[n.position] for n in own} for own in found],
        tasks=pseudo_tasks(_vectors("en"), settings.retrieval),
    )


def new_tagger(size: str) -> tuple[Tagger, Settings]:
    """The bundled encoder, or random weights in the shape of multilingual BERT (177 million)."""
    settings = load_settings("mini" if size == "mini" else "paper", ["run.device=cpu"])
    config = BertConfig(vocab_size=119_547)
    config.num_labels = len(TYPES.tags)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = (
            new_tagger_network("mini", TYPES.tags, 0)
            if size == "mini"
            else BertForTokenClassification(config)  # type: ignore[no-untyped-call]
        )
    network.eval()
    return Tagger(network, load_tokenizer("mini"), TYPES, settings.encoder, settings.run), settings


def new_model(size: str, retrieval: Literal["none", "bundled", "own"]) -> ModelParts:
    """A whole model, which finds neighbors with the bundled encoder or, as after any training,
    with the tagger's own encoder as it was before.
    """
    tagger, settings = new_tagger(size)
    source = bundled_corpus("en", "train")
    datastore = None
    if retrieval == "bundled":
        datastore = Datastore(
            source, _vectors("en"), _sentence_encoder(), None, load_encoder("mini")
        )
    elif retrieval == "own":
        pretrained = {name: own.detach().clone() for name, own in tagger.trainable.items()}
        twin = pretrained_twin(tagger.network, pretrained)
        encoder = SentenceEncoder(twin, tagger.window_cutter, "cls", tagger.device)
        datastore = Datastore(source, encoder.vectors(source.sentences), encoder, pretrained, None)
    return ModelParts(tagger, settings, datastore, adapts=True)


def foreign_sentences() -> list[Sentence]:
    """The bundled test sentences of all languages, shuffled."""
    sentences = [own for language in TARGETS for own in bundled_corpus(language, "test")]
    random.Random(0).shuffle(sentences)
    return sentences


@cache
def _sentence_encoder() -> SentenceEncoder:
    encoder = load_encoder("mini")
    window_cutter = encoder.tokenizer.window_cutter(longest=128, overlap=64)
    return SentenceEncoder(encoder.network, window_cutter, "cls", torch.device("cpu"))


@cache
def _vectors(which: str) -> Vectors:
    sentences = bundled_corpus("en", "train").sentences if which == "en" else foreign_sentences()
    return _sentence_encoder().vectors(sentences)
