"""Trains a student on the probabilities that teachers give to raw text (soft labels)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.adaptation.textbook import dropout, gradients
from metacross.errors import DataError
from metacross.model.batching import padding_groups
from metacross.model.devices import seeded
from metacross.model.encoder import weights_digest
from metacross.model.model_folder import ModelParts
from metacross.model.model_mark import check_writable, is_model_folder
from metacross.model.tagger import Example, Tagger, new_tagger
from metacross.model.training_facts import CorpusFacts, facts_of_training
from metacross.settings import Settings
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import TagSet
from metacross.training.callbacks import Callback
from metacross.training.checkpoints import TrainingState
from metacross.training.loop import Step, StepResult
from metacross.training.run_and_save import run_and_save
from metacross.training.run_folder import RunFolder, corpus_digest
from metacross.training.sampling import Sampler

_NO_TAG = -100  # ignored by the cross-entropy


@dataclass(frozen=True, slots=True)
class SoftSentence:
    """A sentence with the probabilities of its words' tags.

    ``tag_ids`` are hard labels for some of the words, None for the others; None: for no word.
    ``weights`` say how much each word counts; None: all the same.
    *Shape:* probabilities (words, tags), weights (words,).
    """

    sentence: Sentence
    probabilities: NDArray[np.float32]
    tag_ids: tuple[int | None, ...] | None = None
    weights: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class SoftExample:
    """A tokenized sentence with its targets. *Shape:* as in :class:`SoftSentence`, with -100 where
    there is no hard label.
    """

    example: Example
    probabilities: Tensor
    tag_ids: Tensor
    weights: Tensor


def soft_examples(tagger: Tagger, sentences: Sequence[SoftSentence]) -> list[SoftExample]:
    """Tokenize sentences. Where the tagger reads several characters as a word, the word has the
    targets of its first character.
    """
    inputs = tagger.inputs(soft.sentence for soft in sentences)
    return [_soft_example(soft, example) for soft, example in zip(sentences, inputs, strict=True)]


def _soft_example(soft: SoftSentence, example: Example) -> SoftExample:
    units = list(range(len(soft.sentence.words)))
    if example.groups is not None:
        word_of_unit = example.groups.word_of_unit
        units = [unit for unit in units if not unit or word_of_unit[unit] != word_of_unit[unit - 1]]
    hard = soft.tag_ids or (None,) * len(soft.sentence.words)
    tag_ids = [_NO_TAG if tag_id is None else tag_id for tag_id in hard]
    weights = np.ones(len(tag_ids), np.float32) if soft.weights is None else soft.weights
    return SoftExample(
        example,
        torch.from_numpy(np.asarray(soft.probabilities, np.float32)[units]),
        torch.tensor(tag_ids)[units],
        torch.from_numpy(np.asarray(weights, np.float32)[units]),
    )


def soft_loss(
    logits: Tensor, probabilities: Tensor, tag_ids: Tensor, weights: Tensor, *, hard_weight: float
) -> Tensor:
    """The mean squared error between the probabilities of student and teacher, over words and
    tags, plus ``hard_weight`` times the mean cross-entropy of the words with a hard label.

    *Shape:* logits and probabilities (words, tags), tag_ids and weights (words,), result ().
    """
    errors = (logits.softmax(dim=1) - probabilities).square().mean(dim=1)  # (words,)
    loss = (errors * weights).mean()
    has_tag = tag_ids != _NO_TAG
    if hard_weight and bool(has_tag.any()):
        entropy = functional.cross_entropy(logits[has_tag], tag_ids[has_tag], reduction="none")
        loss = loss + hard_weight * (entropy * weights[has_tag]).mean()
    return loss


def distillation_step(
    tagger: Tagger, examples: Sequence[SoftExample], settings: Settings, adam: Adam
) -> Step:
    """One step of the optimizer on a mini-batch of soft labels (``settings.direct``, as
    :func:`distillation_settings` made it).
    """
    direct, seed = settings.direct, settings.run.seed
    hard_weight = settings.distillation.hard_weight
    sampler = Sampler(len(examples), direct.batch_size, seed)

    def step(number: int) -> StepResult:
        factor = learning_rate_factor(settings.schedule, number, direct.steps)
        mini_batch = [examples[draw.position] for draw in sampler.draws(number)]
        with dropout(tagger, enabled=True), seeded(seed, number):
            loss = _mean_loss(tagger, mini_batch, hard_weight)
            adam.step(gradients(loss, tagger), direct.learning_rate * factor)
        return StepResult(loss=loss.item(), n_items=len(mini_batch))

    return step


def _mean_loss(tagger: Tagger, examples: Sequence[SoftExample], hard_weight: float) -> Tensor:
    """The mean over the words of the mini-batch; similar lengths go through the network together.
    *Shape:* ().
    """
    groups = padding_groups([soft.example.n_pieces for soft in examples])
    logits = torch.cat(
        [tagger.logits(tagger.batch([examples[i].example for i in group])) for group in groups]
    )  # (words, tags)
    ordered = [examples[i] for group in groups for i in group]
    return soft_loss(
        logits,
        torch.cat([soft.probabilities for soft in ordered]).to(logits.device),
        torch.cat([soft.tag_ids for soft in ordered]).to(logits.device),
        torch.cat([soft.weights for soft in ordered]).to(logits.device),
        hard_weight=hard_weight,
    )


def distillation_settings(settings: Settings, n_sentences: int) -> Settings:
    """The settings changed to distillation on ``n_sentences``: full epochs, without masking and
    max loss, as direct training.
    """
    distillation = settings.distillation
    batch_size = min(distillation.batch_size, n_sentences)
    values = settings.model_dump()
    values["direct"] = {
        "steps": max(1, round(distillation.epochs * n_sentences / batch_size)),
        "batch_size": batch_size,
        "learning_rate": distillation.learning_rate,
    }
    values["masking"]["ratio"] = 0.0
    values["loss"]["max_weight"] = 0.0
    values["run"] |= {"method": "direct", "blocks": None}
    return Settings.model_validate(values)


def distill(
    sentences: Sequence[SoftSentence],
    labels: tuple[str, ...],
    settings: Settings,
    *,
    start: NerModel | None = None,
    output: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
) -> NerModel:
    """Train a model on soft labels of raw target text; the last weights are taken. It does not
    adapt.

    ``labels`` are the entity types of the teachers, whose tags the probabilities are of. ``start``
    is a model to go on from; None: the encoder from before training. With ``output`` the model is
    saved there, and a training that was stopped resumes.
    """
    if not sentences:
        raise DataError("expected sentences with soft labels to learn from, found none")
    settings = distillation_settings(settings, len(sentences))
    with ExitStack() as stack:
        folder = output or stack.enter_context(tempfile.TemporaryDirectory(prefix="metacross-"))
        return _distill(sentences, TagSet(labels), settings, start, folder, callbacks)


def _distill(
    sentences: Sequence[SoftSentence],
    tag_set: TagSet,
    settings: Settings,
    start: NerModel | None,
    folder: str | Path,
    callbacks: Sequence[Callback],
) -> NerModel:
    check_writable(Path(folder))
    tagger = new_tagger(settings, tag_set)
    if start is not None:
        tagger.network.load_state_dict(start.tagger.network.state_dict())
    corpus = Corpus(tuple(soft.sentence for soft in sentences), source="raw text")
    digest, run_folder = corpus_digest(corpus), RunFolder(folder)
    run_folder.start(settings, {"raw text": digest, "encoder": weights_digest(tagger.network)})
    if is_model_folder(folder):
        return load(folder, device=settings.run.device)
    adam = Adam(tagger.trainable, settings.optimizer)
    examples = soft_examples(tagger, sentences)
    facts = facts_of_training(settings.encoder.name, source=CorpusFacts.of(corpus, digest))
    parts = ModelParts(tagger, settings, datastore=None, adapts=False, facts=facts)
    step = distillation_step(tagger, examples, settings, adam)
    state = TrainingState(tagger.trainable, adam)
    inputs = [soft.example for soft in examples]
    return run_and_save(parts, inputs, step, state, run_folder, None, callbacks)
