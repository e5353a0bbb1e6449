"""Trains a model further on labeled text of the target language."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from metacross.adaptation.evaluation import check_labels
from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.optimizers import Adam
from metacross.errors import SettingsError
from metacross.model.encoder import weights_digest
from metacross.model.model_folder import ModelParts
from metacross.model.model_mark import check_writable, is_model_folder
from metacross.model.ranks import refuse_sharing
from metacross.model.tagger import Tagger
from metacross.model.training_facts import CorpusFacts, facts_of_training
from metacross.settings import Settings, settings_with
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus
from metacross.training.batch_training import fine_tuning_settings, mini_batch_step
from metacross.training.callbacks import Callback
from metacross.training.checkpoints import TrainingState
from metacross.training.run_and_save import run_and_save
from metacross.training.run_folder import RunFolder, corpus_digest
from metacross.training.sampling import random_subset


def fine_tune(
    model: NerModel,
    target: Corpus | str | Path,
    *,
    fraction: float | None = None,
    n_sentences: int | None = None,
    seed: int = 0,
    output: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
) -> NerModel:
    """A new model, trained further on labeled text of the target language (the paper's
    low-resource setting). ``model`` is unchanged. The new model does not adapt.

    A random subset of the text is used: ``fraction`` of it or ``n_sentences``; without either all
    of it. With ``output`` the model is saved there.
    """
    refuse_sharing("fine-tuning")
    if not isinstance(target, Corpus):
        target = read_corpus(target)
    check_labels(target, model.labels)
    if fraction is not None and n_sentences is not None:
        raise SettingsError("expected fraction or n_sentences, found both")
    if fraction is not None:
        if not 0 < fraction <= 1:
            raise SettingsError(
                f"fraction: expected a number above 0 and up to 1, found {fraction}"
            )
        n_sentences = max(1, round(fraction * len(target)))
    subset = target if n_sentences is None else random_subset(target, n_sentences, seed)
    settings = settings_with(
        fine_tuning_settings(model.settings, len(subset)), {"run": {"seed": seed}}
    )
    with ExitStack() as stack:
        folder = output or stack.enter_context(tempfile.TemporaryDirectory(prefix="metacross-"))
        return _fine_tune(model, subset, settings, folder, callbacks)


def _fine_tune(
    model: NerModel,
    subset: Corpus,
    settings: Settings,
    folder: str | Path,
    callbacks: Sequence[Callback],
) -> NerModel:
    check_writable(Path(folder))
    run_folder = RunFolder(folder)
    digest = corpus_digest(subset)
    run_folder.start(
        settings, {"target corpus": digest, "model": weights_digest(model.tagger.network)}
    )
    if is_model_folder(folder):
        return load(folder, device=settings.run.device)
    tagger = Tagger(
        copy.deepcopy(model.tagger.network),
        model.tagger.tokenizer,
        model.tagger.tag_set,
        settings.encoder,
        settings.run,
    )
    adam = Adam(tagger.trainable, settings.optimizer)
    examples = tagger.examples(subset)
    step = mini_batch_step(tagger, examples, settings, adam)
    before = model.parts.facts or facts_of_training(settings.encoder.name)
    facts = before.model_copy(update={"fine_tuned_on": CorpusFacts.of(subset, digest)})
    parts = ModelParts(tagger, settings, datastore=None, adapts=False, facts=facts)
    state = TrainingState(tagger.trainable, adam)
    return run_and_save(parts, examples, step, state, run_folder, None, callbacks)
