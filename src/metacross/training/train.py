"""Trains models: from a labeled corpus and a recipe to a model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from metacross.adaptation.evaluation import check_labels
from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.optimizers import Adam
from metacross.adaptation.plain import CorpusLabeler
from metacross.adaptation.vector_cache import cache_folder, cached_vectors
from metacross.errors import DataError, SettingsError
from metacross.model.datastore import Datastore, outside_encoder, pretrained_encoder
from metacross.model.encoder import Encoder, load_encoder, weights_digest
from metacross.model.model_folder import ModelParts
from metacross.model.model_mark import check_writable, is_model_folder
from metacross.model.ranks import ALONE, Ranks, joined_ranks
from metacross.model.tagger import Example, Tagger, new_tagger
from metacross.model.training_facts import CorpusFacts, facts_of_training
from metacross.settings import Recipe, Settings, load_settings, settings_with
from metacross.text.casing import (
    NOUNS,
    matching_draw,
    sentences_with_capitals,
    with_capitals,
)
from metacross.text.raw_text import read_raw_text
from metacross.text.sentence import Corpus
from metacross.text.source_corpora import read_sources
from metacross.text.stored_sentences import StoredSentences, stored
from metacross.text.tags import TagSet
from metacross.training.batch_training import mini_batch_step
from metacross.training.blocks import with_blocks
from metacross.training.callbacks import Callback
from metacross.training.checkpoints import (
    TrainingState,
)
from metacross.training.loop import Step
from metacross.training.meta_training import maml_step
from metacross.training.run_and_save import run_and_save
from metacross.training.run_folder import AFTER_TRAINING, RunFolder, corpus_digest
from metacross.training.sampling import drawn_positions
from metacross.training.tasks import pseudo_tasks


def train(
    source: Corpus | str | Path | Mapping[str, str | Path],
    *,
    dev: Corpus | str | Path | Mapping[str, str | Path],
    encoder: str | None = None,
    recipe: Recipe | Settings = "paper",
    output: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
) -> NerModel:
    """Train a model on a labeled language and choose its best weights by their F1 on ``dev``.

    Several source languages are given as ``{"en": "en/train.conll", "de": "de/train.conll"}``; the
    model then adapts to neighbors of any of them.
    ``recipe`` is a recipe's name, a YAML file, a list of them, or settings; ``encoder`` overrides
    the recipe's. With ``output`` the model is saved there, and a training that was stopped resumes
    when it is called again with the same arguments; a finished model is only loaded. Under torchrun
    the processes share the training; ``callbacks`` are called in the first one only.

        model = metacross.train("en/train.conll", dev="en/dev.conll", recipe=["mini", "direct"])
    """
    settings = recipe if isinstance(recipe, Settings) else load_settings(recipe)
    if encoder is not None:
        settings = settings_with(settings, {"encoder": {"name": encoder}})
    ranks = joined_ranks()
    if output is None and ranks.size > 1:
        raise SettingsError("output: expected a folder, because several processes share it")
    source = with_target_casing(
        _relabeled(source, settings, max_in_memory=settings.run.mmap_above), settings
    )
    dev = _relabeled(dev, settings)
    with ExitStack() as stack:
        folder = output or stack.enter_context(tempfile.TemporaryDirectory(prefix="metacross-"))
        return _train(source, dev, settings, folder, callbacks if ranks.is_first else (), ranks)


def loaded_model(folder: Path, settings: Settings) -> NerModel:
    """Load a trained model with the settings of a system for what comes after training."""
    values = settings.model_dump(include=set(AFTER_TRAINING))
    return load(folder, device=settings.run.device, **values)


def _relabeled(
    corpus: Corpus | str | Path | Mapping[str, str | Path],
    settings: Settings,
    *,
    max_in_memory: int | None = None,
) -> Corpus:
    """Read a corpus if it is given as files; apply ``data.map`` and ``data.drop``. A larger one
    than ``max_in_memory`` sentences is kept in a file.
    """
    data = settings.data
    new_labels = {**data.map, **dict.fromkeys(data.drop)}
    if isinstance(corpus, Corpus):
        return corpus.relabeled(new_labels)
    return read_sources(
        corpus,
        language=data.language,
        new_labels=new_labels,
        max_in_memory=max_in_memory,
        folder=cache_folder() / "corpora",
    )


def with_target_casing(source: Corpus, settings: Settings) -> Corpus:
    """The source corpus with the capitals of the target's spelling (``data.casing`` and
    ``data.match_casing``).
    """
    data, seed = settings.data, settings.run.seed
    if data.casing is not None and data.match_casing is not None:
        raise SettingsError("expected data.casing or data.match_casing, found both")
    if data.casing is None and data.match_casing is None:
        return source
    draw = NOUNS
    if data.match_casing is not None:
        draw = matching_draw(source, read_raw_text(data.match_casing))
    if isinstance(source.sentences, StoredSentences):
        sentences = sentences_with_capitals(source, draw, seed=seed)
        return replace(source, sentences=stored(sentences, cache_folder() / "corpora"))
    return with_capitals(source, draw, seed=seed)


def _train(
    source: Corpus,
    dev: Corpus,
    settings: Settings,
    folder: str | Path,
    callbacks: Sequence[Callback],
    ranks: Ranks,
) -> NerModel:
    run_folder = RunFolder(folder)
    settings = with_blocks(settings, run_folder.blocks, ranks)
    if ranks.is_first:
        check_writable(Path(folder))
    _check_labeled(source, dev)
    tagger = new_tagger(settings, TagSet(tuple(source.entities_by_label)))
    digests = {"source corpus": corpus_digest(source), "dev corpus": corpus_digest(dev)}
    if ranks.is_first:
        run_folder.start(settings, digests | {"encoder": weights_digest(tagger.network)})
    ranks.wait()
    if is_model_folder(folder):
        return load(folder, device=settings.run.device)
    examples = tagger.lazy_examples(source.sentences)
    datastore = new_datastore(source, examples, tagger, settings, callbacks, ranks)
    adam = Adam(tagger.trainable, settings.optimizer)
    label = CorpusLabeler(tagger, batch_pieces=settings.run.batch_pieces)
    for callback in callbacks:
        callback.on_model(label)

    def validate() -> float:
        return label.f1(dev, ranks)

    source_facts = CorpusFacts.of(source, digests["source corpus"])
    dev_facts = CorpusFacts.of(dev, digests["dev corpus"])
    facts = facts_of_training(settings.encoder.name, source=source_facts, dev=dev_facts)
    parts = ModelParts(tagger, settings, datastore, settings.run.method == "meta", facts)
    step = _step(tagger, examples, datastore, settings, adam, callbacks, ranks)
    state = TrainingState(tagger.trainable, adam)
    return run_and_save(parts, examples, step, state, run_folder, validate, callbacks, ranks)


def _step(
    tagger: Tagger,
    examples: Sequence[Example],
    datastore: Datastore,
    settings: Settings,
    adam: Adam,
    callbacks: Sequence[Callback],
    ranks: Ranks,
) -> Step:
    if settings.run.method == "direct":
        return mini_batch_step(tagger, examples, settings, adam, ranks)
    meta = settings.meta
    queries = drawn_positions(
        len(examples), meta.tasks_per_step, settings.run.seed, steps=meta.steps
    )

    def progress(n_done: int, n_total: int) -> None:
        for callback in callbacks:
            callback.on_prepare("tasks", n_done, n_total)

    tasks = pseudo_tasks(
        datastore.vectors, settings.retrieval, queries=queries, progress=progress, ranks=ranks
    )
    return maml_step(tagger, examples, tasks, settings, adam, ranks)


def new_datastore(
    source: Corpus,
    examples: Sequence[Example],
    tagger: Tagger,
    settings: Settings,
    callbacks: Sequence[Callback],
    ranks: Ranks = ALONE,
) -> Datastore:
    """The source sentences with their vectors, made before the first step changes any weight."""
    retrieval = settings.retrieval
    pretrained: dict[str, Tensor] | None = None
    outside: Encoder | None = None
    if retrieval.encoder is None:
        pretrained = {
            name: weight.detach().cpu().clone() for name, weight in tagger.trainable.items()
        }
        encoder = pretrained_encoder(tagger, pretrained, settings)
    else:
        outside = load_encoder(retrieval.encoder)
        encoder = outside_encoder(outside, settings, tagger)

    def progress(n_done: int) -> None:
        for callback in callbacks:
            callback.on_prepare("sentence vectors", n_done, len(source))

    windows = None
    if outside is None and isinstance(examples, list) and not any(e.groups for e in examples):
        windows = [example.windows for example in examples]
    vectors = cached_vectors(
        encoder,
        source.sentences,
        windows=windows,
        progress=progress,
        max_in_memory=settings.run.mmap_above,
        ranks=ranks,
    )
    return Datastore(source, vectors, encoder, pretrained, outside)


def _check_labeled(source: Corpus, dev: Corpus) -> None:
    for corpus in (source, dev):
        if not corpus.labeled or not corpus.n_entities:
            raise DataError(f"{corpus.name}: expected labeled entities to learn from, found none")
    check_labels(dev, tuple(source.entities_by_label))
