"""Trains models: from a labelled corpus and a recipe to a model folder."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from torch import Tensor

from metacross.adaptation.ner_model import Recogniser, load
from metacross.adaptation.optimizers import Adam
from metacross.adaptation.prediction import Prediction, plain_predictions
from metacross.adaptation.vector_cache import cached_vectors
from metacross.errors import DataError, SettingsError
from metacross.model.encoder import (
    Encoder,
    fingerprint,
    load_codec,
    load_encoder,
    new_tagger_network,
)
from metacross.model.model_folder import (
    Memory,
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
    CheckpointKeeper,
    TrainingState,
    load_weights,
    read_tensors,
)
from metacross.training.loop import LoopSettings, Step, Watcher, run
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
    watchers: Sequence[Watcher] = (),
    also: Look = lambda _label: None,
) -> Recogniser:
    """Train on the source language; goes on where an earlier call with the same recipe and data
    stopped, and only opens the model where one finished.

    ``dev_score`` gives the F1 of predictions for the dev corpus. ``also`` is called before every
    validation with a function that labels a corpus with the weights of that moment.
    """
    check_writable(Path(folder))
    _check_labels(source, dev)
    tags = TagSet(tuple(source.entities_by_type))
    network = new_tagger_network(settings.encoder.name, tags.tags, settings.run.seed)
    codec = load_codec(settings.encoder.name)
    run_folder = RunFolder(folder)
    digests = {"source corpus": corpus_digest(source), "dev corpus": corpus_digest(dev)}
    run_folder.begin(settings, digests | {"encoder": fingerprint(network)})
    if is_model_folder(folder):
        return load(folder, device=settings.run.device)
    tagger = Tagger(network, codec, tags, settings.encoder, settings.run)
    memory = _new_memory(source, tagger, settings, watchers)
    adam = Adam(tagger.trainable, settings.optimiser)
    step = _step(tagger, source, memory, settings, adam)

    def label(corpus: Corpus) -> list[Prediction]:
        batch_pieces = settings.run.batch_pieces
        return plain_predictions(tagger, corpus.sentences, batch_pieces=batch_pieces)

    def validate() -> float:
        also(label)
        return dev_score(label(dev))

    parts = ModelParts(tagger, settings, memory, adapts=settings.run.method == "meta")
    state = TrainingState(tagger.trainable, adam)
    return _trained(parts, step, state, run_folder, validate, watchers)


def fine_tune_model(
    model: Recogniser,
    target: Corpus,
    folder: str | Path,
    *,
    n_sentences: int,
    seed: int = 0,
    watchers: Sequence[Watcher] = (),
) -> Recogniser:
    """Train a model further on a random subset of labelled target text (the paper's low-resource
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
        {"target corpus": corpus_digest(subset), "model": fingerprint(tagger.network)},
    )
    if is_model_folder(folder):
        return load(folder, device=settings.run.device)
    adam = Adam(tagger.trainable, settings.optimiser)
    step = mini_batch_step(tagger, examples, settings, adam)
    parts = ModelParts(tagger, settings, memory=None, adapts=False)
    return _trained(parts, step, TrainingState(tagger.trainable, adam), run_folder, None, watchers)


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
    watchers: Sequence[Watcher],
) -> Recogniser:
    settings = parts.settings
    meta, direct = settings.meta, settings.direct
    loop = LoopSettings(
        steps=meta.steps if settings.run.method == "meta" else direct.steps,
        validate_every=settings.run.validate_every,
        checkpoint_every=settings.run.checkpoint_every,
    )
    keeper = CheckpointKeeper(run_folder.training)
    with run_folder.alone():
        history = run(
            step,
            state,
            loop,
            keeper=keeper,
            validate=validate,
            watchers=[JsonLog(run_folder.log), *watchers],
        )
        load_weights(parts.tagger.trainable, read_tensors(keeper.best))
        run_folder.end(history)
        save_model(parts, run_folder.folder)
    return Recogniser(parts)


def _step(tagger: Tagger, source: Corpus, memory: Memory, settings: Settings, adam: Adam) -> Step:
    examples = tagger.examples(source)
    if settings.run.method == "direct":
        return mini_batch_step(tagger, examples, settings, adam)
    tasks = pseudo_tasks(source.sentences, memory.vectors, settings.retrieval)
    return maml_step(tagger, examples, tasks, settings, adam)


def _new_memory(
    source: Corpus, tagger: Tagger, settings: Settings, watchers: Sequence[Watcher]
) -> Memory:
    """The source language with its vectors, made before the first step changes any weight."""
    retrieval = settings.retrieval
    pretrained: dict[str, Tensor] | None = None
    outside: Encoder | None = None
    if retrieval.encoder is None:
        pretrained = {
            name: weight.detach().cpu().clone() for name, weight in tagger.trainable.items()
        }
        twin = pretrained_twin(tagger.network, pretrained)
        encoder = SentenceEncoder(twin, tagger.word_pieces, retrieval.pooling, tagger.device)
    else:
        outside = load_encoder(retrieval.encoder)
        encoder = outside_encoder(outside, settings, tagger)

    def progress(n_done: int) -> None:
        for watcher in watchers:
            watcher.preparing("sentence vectors", n_done, len(source))

    vectors = cached_vectors(encoder, source.sentences, progress=progress)
    return Memory(source, vectors, encoder, pretrained, outside)


def _check_labels(source: Corpus, dev: Corpus) -> None:
    for corpus in (source, dev):
        if not corpus.labelled or not corpus.n_entities:
            raise DataError(f"{corpus.name}: expected labelled entities to learn from, found none")
    odd = [label for label in dev.entities_by_type if label not in source.entities_by_type]
    if odd:
        raise DataError(
            f"{dev.name}: expected the types {', '.join(source.entities_by_type)} of "
            f"{source.name}, found {', '.join(odd)} too; map or drop them"
        )
