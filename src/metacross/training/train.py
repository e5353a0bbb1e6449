"""Trains models: from a labeled corpus and a recipe to a model folder."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from torch import Tensor

from metacross.adaptation.ner_model import NerModel, load
from metacross.adaptation.optimizers import Adam
from metacross.adaptation.prediction import Prediction, plain_predictions
from metacross.adaptation.vector_cache import cached_vectors
from metacross.errors import DataError, SettingsError
from metacross.model.encoder import (
    Encoder,
    load_encoder,
    load_tokenizer,
    new_tagger_network,
    weights_digest,
)
from metacross.model.model_folder import (
    Datastore,
    ModelParts,
    check_writable,
    is_model_folder,
    outside_encoder,
    save_model,
)
from metacross.model.sentence_encoder import SentenceEncoder, pretrained_twin
from metacross.model.tagger import Tagger
from metacross.settings import Settings
from metacross.text.sentence import Corpus
from metacross.text.tags import TagSet
from metacross.training.batch_training import fine_tuning_settings, mini_batch_step
from metacross.training.callbacks import JsonLog
from metacross.training.checkpoints import (
    Checkpoints,
    TrainingState,
    load_weights,
    read_tensors,
)
from metacross.training.loop import Callback, LoopSettings, Step, run
from metacross.training.meta_training import maml_step
from metacross.training.run_folder import RunFolder, corpus_digest
from metacross.training.tasks import pseudo_tasks

DevScore: TypeAlias = Callable[[Sequence[Prediction]], float]
Look: TypeAlias = Callable[[Callable[[Corpus], Sequence[Prediction]]], None]


def train_model(
    source: Corpus,
    dev: Corpus,
    settings: Settings,
    folder: str | Path,
    *,
    dev_score: DevScore,
    callbacks: Sequence[Callback] = (),
    also: Look = lambda _label: None,
) -> NerModel:
    """Train on the source language; goes on where an earlier call with the same recipe and data
    stopped, and only opens the model where one finished.

    ``dev_score`` gives the F1 of predictions for the dev corpus. ``also`` is called before every
    validation with a function that labels a corpus with the weights of that moment.
    """
    check_writable(Path(folder))
    _check_labels(source, dev)
    tags = TagSet(tuple(source.entities_by_label))
    network = new_tagger_network(settings.encoder.name, tags.tags, settings.run.seed)
    tokenizer = load_tokenizer(settings.encoder.name)
    run_folder = RunFolder(folder)
    digests = {"source corpus": corpus_digest(source), "dev corpus": corpus_digest(dev)}
    run_folder.begin(settings, digests | {"encoder": weights_digest(network)})
    if is_model_folder(folder):
        return load(folder, device=settings.run.device)
    tagger = Tagger(network, tokenizer, tags, settings.encoder, settings.run)
    datastore = _new_datastore(source, tagger, settings, callbacks)
    adam = Adam(tagger.trainable, settings.optimizer)
    step = _step(tagger, source, datastore, settings, adam)

    def label(corpus: Corpus) -> list[Prediction]:
        batch_pieces = settings.run.batch_pieces
        return plain_predictions(tagger, corpus.sentences, batch_pieces=batch_pieces)

    def validate() -> float:
        also(label)
        return dev_score(label(dev))

    parts = ModelParts(tagger, settings, datastore, adapts=settings.run.method == "meta")
    state = TrainingState(tagger.trainable, adam)
    return _trained(parts, step, state, run_folder, validate, callbacks)


def fine_tune_model(
    model: NerModel,
    target: Corpus,
    folder: str | Path,
    *,
    n_sentences: int,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
) -> NerModel:
    """Train a model further on a random subset of labeled target text (the paper's low-resource
    setting). The new model does not adapt. The given one must not be used afterwards.
    """
    check_writable(Path(folder))
    subset = random_subset(target, n_sentences, seed)
    values = fine_tuning_settings(model.settings, len(subset)).model_dump()
    values["run"]["seed"] = seed
    settings = Settings.model_validate(values)
    tagger = model.tagger
    examples = tagger.examples(subset)
    run_folder = RunFolder(folder)
    run_folder.begin(
        settings,
        {"target corpus": corpus_digest(subset), "model": weights_digest(tagger.network)},
    )
    if is_model_folder(folder):
        return load(folder, device=settings.run.device)
    adam = Adam(tagger.trainable, settings.optimizer)
    step = mini_batch_step(tagger, examples, settings, adam)
    parts = ModelParts(tagger, settings, datastore=None, adapts=False)
    return _trained(parts, step, TrainingState(tagger.trainable, adam), run_folder, None, callbacks)


def random_subset(corpus: Corpus, n_sentences: int, seed: int) -> Corpus:
    """So many sentences of a corpus, drawn without replacement, in their order."""
    if not 1 <= n_sentences <= len(corpus):
        raise SettingsError(
            f"expected 1 to {len(corpus):,} sentences of {corpus.name}, found {n_sentences:,}"
        )
    drawn = sorted(random.Random(seed).sample(range(len(corpus)), n_sentences))
    return Corpus(tuple(corpus[position] for position in drawn), source=corpus.source)


def _trained(
    parts: ModelParts,
    step: Step,
    state: TrainingState,
    run_folder: RunFolder,
    validate: Callable[[], float] | None,
    callbacks: Sequence[Callback],
) -> NerModel:
    settings = parts.settings
    meta, direct = settings.meta, settings.direct
    loop = LoopSettings(
        steps=meta.steps if settings.run.method == "meta" else direct.steps,
        validate_every=settings.run.validate_every,
        checkpoint_every=settings.run.checkpoint_every,
    )
    keeper = Checkpoints(run_folder.training)
    with run_folder.alone():
        history = run(
            step,
            state,
            loop,
            keeper=keeper,
            validate=validate,
            callbacks=[JsonLog(run_folder.log), *callbacks],
        )
        load_weights(parts.tagger.trainable, read_tensors(keeper.best))
        run_folder.end(history)
        save_model(parts, run_folder.folder)
    return NerModel(parts)


def _step(
    tagger: Tagger, source: Corpus, datastore: Datastore, settings: Settings, adam: Adam
) -> Step:
    examples = tagger.examples(source)
    if settings.run.method == "direct":
        return mini_batch_step(tagger, examples, settings, adam)
    tasks = pseudo_tasks(datastore.vectors, settings.retrieval)
    return maml_step(tagger, examples, tasks, settings, adam)


def _new_datastore(
    source: Corpus, tagger: Tagger, settings: Settings, callbacks: Sequence[Callback]
) -> Datastore:
    """The source language with its vectors, made before the first step changes any weight."""
    retrieval = settings.retrieval
    pretrained: dict[str, Tensor] | None = None
    outside: Encoder | None = None
    if retrieval.encoder is None:
        pretrained = {
            name: weight.detach().cpu().clone() for name, weight in tagger.trainable.items()
        }
        twin = pretrained_twin(tagger.network, pretrained)
        encoder = SentenceEncoder(twin, tagger.window_cutter, retrieval.pooling, tagger.device)
    else:
        outside = load_encoder(retrieval.encoder)
        encoder = outside_encoder(outside, settings, tagger)

    def progress(n_done: int) -> None:
        for callback in callbacks:
            callback.preparing("sentence vectors", n_done, len(source))

    vectors = cached_vectors(encoder, source.sentences, progress=progress)
    return Datastore(source, vectors, encoder, pretrained, outside)


def _check_labels(source: Corpus, dev: Corpus) -> None:
    for corpus in (source, dev):
        if not corpus.labeled or not corpus.n_entities:
            raise DataError(f"{corpus.name}: expected labeled entities to learn from, found none")
    odd = [label for label in dev.entities_by_label if label not in source.entities_by_label]
    if odd:
        raise DataError(
            f"{dev.name}: expected the types {', '.join(source.entities_by_label)} of "
            f"{source.name}, found {', '.join(odd)} too; map or drop them"
        )
