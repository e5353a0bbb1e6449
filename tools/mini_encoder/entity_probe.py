"""Judges an encoder by the entities it finds in languages without labeled sentences."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from metacross.adaptation.optimizers import Adam
from metacross.adaptation.prediction import plain_predictions
from metacross.adaptation.textbook import dropout
from metacross.errors import DataError
from metacross.metrics.scoring import score
from metacross.model.devices import seeded
from metacross.model.encoder import load_tokenizer, new_tagger_network
from metacross.model.tagger import Example, Tagger, TaggerBatch
from metacross.settings import EncoderSettings, OptimizerSettings, RunSettings
from metacross.text.sentence import Corpus
from metacross.text.tags import TagSet
from tools.mini_encoder.random_weights import randomize

_LIKE_LENGTHS = 20  # batches whose sentences are sorted by length together


@dataclass(frozen=True, slots=True)
class EntityProbeSettings:
    """How the tagger is trained; rates are the highest. The head, which is new, learns faster."""

    epochs: int = 2
    batch: int = 32
    head_rate: float = 1e-3
    body_rate: float = 5e-4
    warmup_steps: int = 100
    dropout: float = 0.3
    max_length: int = 160
    seed: int = 1


def entity_probe(
    encoder: str,
    source: Corpus,
    dev: Mapping[str, Corpus],
    settings: EntityProbeSettings,
    *,
    random_weights: bool = False,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> dict[str, float]:
    """Train a linear layer and the whole encoder on the source, and score it as it is on each dev
    corpus: F1 by its key. ``random_weights`` draws the encoder's weights anew before, as a control.

    Types that a dev corpus does not have are not counted there.
    """
    _check_types(source, dev)
    tags = TagSet(tuple(source.entities_by_label))
    network = new_tagger_network(encoder, tags.tags, settings.seed)
    if random_weights:
        randomize(network, settings.seed)
    own = EncoderSettings(
        frozen_layers=None,
        dropout=settings.dropout,
        max_length=settings.max_length,
        overlap=settings.max_length // 2,
    )
    tagger = Tagger(network, load_tokenizer(encoder), tags, own, RunSettings())
    _train(tagger, tagger.examples(source), settings, progress)
    return {name: _f1(tagger, corpus) for name, corpus in dev.items()}


def n_steps(n_sentences: int, settings: EntityProbeSettings) -> int:
    """How many batches the training has."""
    return settings.epochs * -(-n_sentences // settings.batch)


def _train(
    tagger: Tagger,
    examples: Sequence[Example],
    settings: EntityProbeSettings,
    progress: Callable[[int], None],
) -> None:
    rng = random.Random(settings.seed)
    plan = [b for _ in range(settings.epochs) for b in _epoch(examples, settings.batch, rng)]
    body = {n: w for n, w in tagger.trainable.items() if not n.startswith("classifier")}
    head = {n: w for n, w in tagger.trainable.items() if n.startswith("classifier")}
    adams = Adam(body, OptimizerSettings()), Adam(head, OptimizerSettings())
    weights = [*body.values(), *head.values()]
    for number, positions in enumerate(plan):
        factor = min((number + 1) / settings.warmup_steps, 1 - number / len(plan))
        with dropout(tagger, enabled=True), seeded(settings.seed, number):
            batch = tagger.batch([examples[position] for position in positions])
            loss = _word_loss(tagger, batch)
            found = torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)
        found = _clipped(found)
        adams[0].step(found[: len(body)], settings.body_rate * factor)
        adams[1].step(found[len(body) :], settings.head_rate * factor)
        progress(number + 1)


def _word_loss(tagger: Tagger, batch: TaggerBatch) -> Tensor:
    """The mean over all words of a batch, as most taggers are trained. *Shape:* ()."""
    if batch.tag_ids is None:
        raise DataError("expected labeled sentences to learn from, found unlabeled ones")
    return functional.cross_entropy(tagger.logits(batch), batch.tag_ids)


def _clipped(gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """All gradients together, no longer than 1."""
    norm = torch.stack(torch._foreach_norm(list(gradients))).norm()
    return torch._foreach_mul(list(gradients), (1 / (norm + 1e-6)).clamp(max=1.0))


def _epoch(examples: Sequence[Example], size: int, rng: random.Random) -> list[list[int]]:
    """All positions in shuffled batches of sentences of like lengths."""
    order = list(range(len(examples)))
    rng.shuffle(order)
    found: list[list[int]] = []
    for start in range(0, len(order), _LIKE_LENGTHS * size):
        pool = order[start : start + _LIKE_LENGTHS * size]
        pool.sort(key=lambda position: examples[position].n_pieces)
        found += [pool[first : first + size] for first in range(0, len(pool), size)]
    rng.shuffle(found)
    return found


def _f1(tagger: Tagger, corpus: Corpus) -> float:
    batch_pieces = RunSettings().batch_pieces
    predictions = plain_predictions(tagger, corpus.sentences, batch_pieces=batch_pieces)
    absent = dict.fromkeys(set(tagger.tag_set.labels) - set(corpus.entities_by_label))
    predicted = Corpus(tuple(own.labeled.relabeled(absent) for own in predictions))
    return score(corpus, predicted).overall.f1


def _check_types(source: Corpus, dev: Mapping[str, Corpus]) -> None:
    for corpus in (source, *dev.values()):
        if not corpus.labeled or not corpus.n_entities:
            raise DataError(f"{corpus.name}: expected labeled entities, found none")
        odd = [label for label in corpus.entities_by_label if label not in source.entities_by_label]
        if odd:
            raise DataError(
                f"{corpus.name}: expected the types {', '.join(source.entities_by_label)} of "
                f"{source.name}, found {', '.join(odd)} too"
            )
