"""Trains BiLSTM-CRFs in mini-batches: one, or several that share weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from metacross.adaptation.evaluation import f1_of
from metacross.adaptation.optimizers import Adam
from metacross.adaptation.word_model import WordModel
from metacross.model.bilstm_crf import BilstmCrf, BilstmCrfNetwork, Vocabulary
from metacross.model.devices import seeded
from metacross.settings import Settings
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import TagSet
from metacross.training.callbacks import Callback, JsonLog
from metacross.training.checkpoints import Checkpoints, TrainingState, load_weights, read_tensors
from metacross.training.loop import LoopSettings, Step, StepResult, Validate, run
from metacross.training.run_folder import RunFolder
from metacross.training.sampling import SimilarLengthSampler


@dataclass(frozen=True, slots=True)
class TaggedText:
    """Sentences and the tag numbers of their words, of ``n_tags`` different tags."""

    sentences: Sequence[Sentence]
    tag_ids: Sequence[Sequence[int]]
    n_tags: int

    @classmethod
    def of_entities(cls, corpus: Corpus, tag_set: TagSet) -> TaggedText:
        """The entities of a corpus."""
        tag_ids = [tag_set.ids(s.spans or (), len(s.words)) for s in corpus]
        return cls(corpus.sentences, tag_ids, len(tag_set))


@dataclass(frozen=True, slots=True)
class TaggingTask:
    """A network that learns a text, of which every mini-batch has ``per_step`` sentences."""

    network: BilstmCrfNetwork
    vocabulary: Vocabulary
    text: TaggedText
    per_step: int

    def sampler(self, seed: int) -> SimilarLengthSampler:
        """Draws the sentences of each step."""
        lengths = [len(sentence.words) for sentence in self.text.sentences]
        return SimilarLengthSampler(lengths, self.per_step, seed)

    def losses(self, positions: Sequence[int]) -> Tensor:
        """The negative log-likelihood of some sentences. *Shape:* (sentences,)."""
        inputs = self.vocabulary.inputs([self.text.sentences[i] for i in positions])
        tag_ids = pad_sequence(
            [torch.tensor(self.text.tag_ids[i]) for i in positions], batch_first=True
        )  # (sentences, words)
        return self.network.crf.losses(self.network(*inputs), tag_ids, inputs[2])


def parts_of_mini_batch(weights: Sequence[float], batch_size: int) -> list[int]:
    """How many sentences of a mini-batch belong to tasks of these weights; at least one of each.

    >>> parts_of_mini_batch([3, 1], 8), parts_of_mini_batch([1, 0.001], 8)
    ([6, 2], [8, 1])
    """
    return [max(1, round(batch_size * weight / sum(weights))) for weight in weights]


def likelihood_step(tasks: Sequence[TaggingTask], settings: Settings, adam: Adam) -> Step:
    """One step of the optimizer on the mean negative log-likelihood of a mini-batch, which has
    sentences of every task.
    """
    lstm, seed = settings.bilstm_crf, settings.run.seed
    samplers = [task.sampler(seed) for task in tasks]
    weights = list(trainable(tasks).values())

    def step(number: int) -> StepResult:
        losses = []
        with seeded(seed, number):
            for task, sampler in zip(tasks, samplers, strict=True):
                task.network.train()
                losses.append(task.losses(sampler.positions(number)))
            together = torch.cat(losses)  # (sentences,)
            loss = together.mean()
            adam.step(torch.autograd.grad(loss, weights), lstm.learning_rate)
        return StepResult(loss=loss.item(), n_items=len(together))

    return step


def trainable(tasks: Sequence[TaggingTask]) -> dict[str, nn.Parameter]:
    """The weights that are trained, by name; those that networks share only once."""
    return dict(nn.ModuleList([task.network for task in tasks]).named_parameters())


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
    lstm = settings.bilstm_crf
    batch_size = min(lstm.batch_size, len(corpus))
    per_epoch = -(-len(corpus) // batch_size)
    loop = LoopSettings(
        steps=lstm.epochs * per_epoch,
        validate_every=per_epoch,
        checkpoint_every=settings.run.checkpoint_every,
    )
    text = TaggedText.of_entities(corpus, tagger.tag_set)
    task = TaggingTask(tagger.module, tagger.vocabulary, text, batch_size)
    model = WordModel(tagger, settings)

    def validate() -> float:
        return f1_of(model.predict_stream(dev), dev)

    _train(model, [task], loop, folder, validate, callbacks)
    return model


def train_together(
    tagger: BilstmCrf,
    tasks: Sequence[TaggingTask],
    settings: Settings,
    folder: Path,
    callbacks: Sequence[Callback] = (),
) -> WordModel:
    """Train the networks of several tasks in ``folder`` with one optimizer, and save the tagger,
    whose network is one of them. The last weights are taken: nothing is chosen by a dev corpus.

    A training that was stopped resumes.
    """
    steps = settings.two_languages.steps
    loop = LoopSettings(steps, steps, settings.run.checkpoint_every)
    model = WordModel(tagger, settings)
    _train(model, tasks, loop, folder, None, callbacks)
    return model


def _train(
    model: WordModel,
    tasks: Sequence[TaggingTask],
    loop: LoopSettings,
    folder: Path,
    validate: Validate | None,
    callbacks: Sequence[Callback],
) -> None:
    weights = trainable(tasks)
    adam = Adam(weights, model.settings.optimizer)
    run_folder = RunFolder(folder)
    checkpoints = Checkpoints(run_folder.training)
    run_folder.training.mkdir(parents=True, exist_ok=True)
    with run_folder.locked():
        run(
            likelihood_step(tasks, model.settings, adam),
            TrainingState(weights, adam),
            loop,
            checkpoints=checkpoints,
            validate=validate,
            callbacks=[JsonLog(run_folder.log), *callbacks],
        )
        load_weights(weights, read_tensors(checkpoints.best))
        model.save(folder)
