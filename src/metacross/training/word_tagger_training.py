"""Trains a BiLSTM-CRF in mini-batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence

from metacross.adaptation.evaluation import f1_of
from metacross.adaptation.optimizers import Adam
from metacross.adaptation.word_model import WordModel
from metacross.model.bilstm_crf import BilstmCrf
from metacross.model.devices import seeded
from metacross.settings import Settings
from metacross.text.sentence import Corpus, Sentence
from metacross.training.callbacks import Callback, JsonLog
from metacross.training.checkpoints import Checkpoints, TrainingState, load_weights, read_tensors
from metacross.training.loop import LoopSettings, Step, StepResult, run
from metacross.training.run_folder import RunFolder
from metacross.training.sampling import Sampler


def likelihood_step(
    tagger: BilstmCrf, sentences: Sequence[Sentence], settings: Settings, adam: Adam
) -> Step:
    """One step of the optimizer on the negative log-likelihood of a mini-batch."""
    lstm, seed = settings.bilstm_crf, settings.run.seed
    sampler = Sampler(len(sentences), min(lstm.batch_size, len(sentences)), seed)
    weights = list(trainable(tagger).values())

    def step(number: int) -> StepResult:
        mini_batch = [sentences[draw.position] for draw in sampler.draws(number)]
        tag_ids = pad_sequence(
            [
                torch.tensor(tagger.tag_set.ids(sentence.spans or (), len(sentence.words)))
                for sentence in mini_batch
            ],
            batch_first=True,
        )  # (sentences, words)
        tagger.module.train()
        with seeded(seed, number):
            scores, is_word = tagger.scores(mini_batch)
            loss = tagger.module.crf.losses(scores, tag_ids, is_word).mean()
            adam.step(torch.autograd.grad(loss, weights), lstm.learning_rate)
        return StepResult(loss=loss.item(), n_items=len(mini_batch))

    return step


def trainable(tagger: BilstmCrf) -> dict[str, torch.nn.Parameter]:
    """The weights that are trained, by name."""
    return dict(tagger.module.named_parameters())


def train_bilstm_crf(
    tagger: BilstmCrf,
    corpus: Corpus,
    dev: Corpus,
    settings: Settings,
    folder: Path,
    callbacks: Sequence[Callback] = (),
) -> WordModel:
    """Train in ``folder`` and choose the best weights by their F1 on ``dev``, once an epoch.

    A training that was stopped resumes.
    """
    lstm, run_folder = settings.bilstm_crf, RunFolder(folder)
    per_epoch = -(-len(corpus) // min(lstm.batch_size, len(corpus)))
    loop = LoopSettings(
        steps=lstm.epochs * per_epoch,
        validate_every=per_epoch,
        checkpoint_every=settings.run.checkpoint_every,
    )
    weights = trainable(tagger)
    adam = Adam(weights, settings.optimizer)
    model = WordModel(tagger, settings)
    checkpoints = Checkpoints(run_folder.training)
    run_folder.training.mkdir(parents=True, exist_ok=True)
    with run_folder.locked():
        run(
            likelihood_step(tagger, corpus.sentences, settings, adam),
            TrainingState(weights, adam),
            loop,
            checkpoints=checkpoints,
            validate=lambda: f1_of(model.predict_stream(dev), dev),
            callbacks=[JsonLog(run_folder.log), *callbacks],
        )
        load_weights(weights, read_tensors(checkpoints.best))
        model.save(folder)
    return model
