"""Measures how well a tagger on top of an encoder labels languages it was not trained on."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from metacross.adaptation.optimizers import Adam
from metacross.adaptation.plain import CorpusLabeler
from metacross.errors import DataError
from metacross.metrics.scoring import score
from metacross.model.encoder import new_tagger_network
from metacross.model.tagger import Tagger
from metacross.model.tokenizer import load_tokenizer
from metacross.settings import Settings, load_settings
from metacross.text.sentence import Corpus
from metacross.text.tags import TagSet
from metacross.training.batch_training import mini_batch_step
from metacross.training.callbacks import Callback
from metacross.training.checkpoints import Checkpoints, TrainingState
from metacross.training.loop import LoopSettings, run
from tools.mini_encoder.random_weights import randomize

_EPOCHS, _BATCH_SIZE, _WARMUP_STEPS = 2, 32, 100


def probe_settings(encoder: str, n_sentences: int, seed: int) -> Settings:
    """The training of the probe: all weights, two epochs, no masking and no max loss."""
    steps = max(1, round(_EPOCHS * n_sentences / _BATCH_SIZE))
    values = {
        "encoder": {
            "name": encoder,
            "frozen_layers": None,
            "dropout": 0.3,
            "max_length": 160,
            "overlap": 80,
        },
        "masking": {"ratio": 0.0},
        "loss": {"max_weight": 0.0},
        "optimizer": {"clip_norm": 1.0},
        "schedule": {"decay": "linear", "warmup_ratio": min(_WARMUP_STEPS / steps, 0.5)},
        "direct": {"steps": steps, "batch_size": _BATCH_SIZE, "learning_rate": 5e-4},
        "run": {"method": "direct", "seed": seed},
    }
    return load_settings("paper", values)


def entity_probe(
    encoder: str,
    source: Corpus,
    dev: Mapping[str, Corpus],
    *,
    seed: int,
    random_weights: bool = False,
    callbacks: Sequence[Callback] = (),
) -> dict[str, float]:
    """Train a tagger on the source corpus and score it without adaptation on each dev corpus.

    Returns the F1 by the keys of ``dev``. Labels that a dev corpus does not have are ignored there.
    ``random_weights`` replaces the weights of the encoder by random ones before the training, as a
    control.
    """
    _check_labels(source, dev)
    settings = probe_settings(encoder, len(source), seed)
    tag_set = TagSet(tuple(source.entities_by_label))
    network = new_tagger_network(encoder, tag_set.tags, seed)
    if random_weights:
        randomize(network, seed)
    tagger = Tagger(network, load_tokenizer(encoder), tag_set, settings.encoder, settings.run)
    _train(tagger, source, settings, callbacks)
    return {name: _f1(tagger, corpus, settings.run.batch_pieces) for name, corpus in dev.items()}


def _train(
    tagger: Tagger, source: Corpus, settings: Settings, callbacks: Sequence[Callback]
) -> None:
    adam = Adam(tagger.trainable, settings.optimizer)
    steps = settings.direct.steps
    with tempfile.TemporaryDirectory() as folder:
        run(
            mini_batch_step(tagger, tagger.examples(source), settings, adam),
            TrainingState(tagger.trainable, adam),
            LoopSettings(steps, validate_every=steps, checkpoint_every=steps),
            checkpoints=Checkpoints(Path(folder)),
            validate=None,
            callbacks=callbacks,
        )


def _f1(tagger: Tagger, corpus: Corpus, batch_pieces: int) -> float:
    predictions = CorpusLabeler(tagger, batch_pieces=batch_pieces)(corpus)
    absent_labels = set(tagger.tag_set.labels) - set(corpus.entities_by_label)
    without_absent = dict.fromkeys(absent_labels)
    predicted = Corpus(
        tuple(prediction.labeled.relabeled(without_absent) for prediction in predictions)
    )
    return score(corpus, predicted).overall.f1


def _check_labels(source: Corpus, dev: Mapping[str, Corpus]) -> None:
    labels = source.entities_by_label
    for corpus in (source, *dev.values()):
        if not corpus.labeled or not corpus.n_entities:
            raise DataError(f"{corpus.name}: expected labeled entities, found none")
        unknown_labels = corpus.entities_by_label.keys() - labels.keys()
        if unknown_labels:
            raise DataError(
                f"{corpus.name}: expected only the labels of {source.name} ({', '.join(labels)}), "
                f"found {', '.join(sorted(unknown_labels))}"
            )
