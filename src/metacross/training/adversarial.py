"""Trains a tagger against a discriminator that tells source words from target words by their
states (after AdvPicker, Chen et al. 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.adaptation.textbook import dropout, gradients
from metacross.errors import RunError
from metacross.model.batching import length_batches
from metacross.model.devices import seeded
from metacross.model.encoder import weights_digest
from metacross.model.model_folder import ModelParts
from metacross.model.model_mark import check_writable, is_model_folder
from metacross.model.tagger import Example, Tagger, new_tagger
from metacross.model.training_facts import CorpusFacts, facts_of_training
from metacross.model.word_states import states_and_logits
from metacross.settings import Settings
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import TagSet
from metacross.training.batch_training import mini_batch_step
from metacross.training.callbacks import Callback
from metacross.training.checkpoints import (
    Checkpoints,
    TrainingState,
    load_weights,
    read_tensors,
    under,
)
from metacross.training.loop import Step, StepResult
from metacross.training.run_and_save import run_and_save
from metacross.training.run_folder import RunFolder, corpus_digest
from metacross.training.sampling import Sampler

_DISCRIMINATOR, _ITS_ADAM, _ENCODER_ADAM = "discriminator.", "its_adam.", "encoder_adam."


class Discriminator(nn.Module):
    """Scores words by their states: above 0 if the word seems to be of the target language."""

    def __init__(self, width: int, states: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, states)
        self.output = nn.Linear(states, 1)

    def forward(self, states: Tensor) -> Tensor:
        """The scores of words. *Shape:* (words, width), result (words,)."""
        scores: Tensor = self.output(functional.relu(self.hidden(states)))
        return scores.squeeze(1)


@dataclass(frozen=True, slots=True)
class AdversarialState(TrainingState):
    """With the discriminator, its optimizer, and that of the encoder against it."""

    discriminator: Discriminator
    its_adam: Adam
    encoder_adam: Adam

    def tensors(self) -> dict[str, Tensor]:
        """Everything, by name."""
        tensors = TrainingState.tensors(self)
        for prefix, state in (
            (_DISCRIMINATOR, self.discriminator.state_dict()),
            (_ITS_ADAM, self.its_adam.state()),
            (_ENCODER_ADAM, self.encoder_adam.state()),
        ):
            tensors |= {prefix + name: tensor for name, tensor in state.items()}
        return tensors

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore everything."""
        TrainingState.load(self, tensors)
        self.discriminator.load_state_dict(under(_DISCRIMINATOR, tensors))
        self.its_adam.load_state(under(_ITS_ADAM, tensors))
        self.encoder_adam.load_state(under(_ENCODER_ADAM, tensors))


def adversarial_step(
    tagger: Tagger,
    examples: Sequence[Example],
    raw: Sequence[Example],
    settings: Settings,
    state: AdversarialState,
) -> Step:
    """A step on labeled sentences, a step of the discriminator on other source sentences and on
    raw text, and a step of the encoder against it.
    """
    direct, seed, adversary = settings.direct, settings.run.seed, settings.adversary
    learn = mini_batch_step(tagger, examples, settings, state.adam)
    of_source = Sampler(len(examples), min(direct.batch_size, len(examples)), seed + 1)
    of_target = Sampler(len(raw), min(direct.batch_size, len(raw)), seed)
    discriminator = state.discriminator
    its_weights = list(discriminator.parameters())

    def step(number: int) -> StepResult:
        result = learn(number)
        factor = learning_rate_factor(settings.schedule, number, direct.steps)
        source = [examples[draw.position] for draw in of_source.draws(number)]
        target = [raw[draw.position] for draw in of_target.draws(number)]
        with dropout(tagger, enabled=True), seeded(seed, number, 1):
            states, is_target = _states_of_both(tagger, source, target)
            loss = _language_loss(discriminator(states.detach()), is_target)
            gradient = torch.autograd.grad(loss, its_weights)
            state.its_adam.step(gradient, adversary.learning_rate * factor)
            fooled = _language_loss(discriminator(states), 1 - is_target)
            rate = adversary.encoder_rate * direct.learning_rate * factor
            state.encoder_adam.step(gradients(fooled, tagger), rate)
        return result

    return step


def _states_of_both(
    tagger: Tagger, source: Sequence[Example], target: Sequence[Example]
) -> tuple[Tensor, Tensor]:
    """The states of words and whether they are of the target. *Shape:* (words, width), (words,)."""
    states = [states_and_logits(tagger, tagger.batch(part))[0] for part in (source, target)]
    is_target = [states[i].new_full((len(states[i]),), float(i)) for i in (0, 1)]
    return torch.cat(states), torch.cat(is_target)


def _language_loss(scores: Tensor, is_target: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(scores, is_target)


@dataclass(frozen=True, slots=True)
class AdversarialModel:
    """A tagger, and the discriminator of its last step."""

    model: NerModel
    discriminator: Discriminator

    @torch.no_grad()
    def target_probabilities(self, sentences: Sequence[Sentence]) -> Tensor:
        """How much the words of each sentence seem to be of the target language, on average.
        *Shape:* (sentences,).
        """
        tagger, settings = self.model.tagger, self.model.settings
        examples = tagger.inputs(sentences)
        means = torch.zeros(len(sentences))
        windows = [example.windows for example in examples]
        with dropout(tagger, enabled=False):
            for positions in length_batches(windows, max_pieces=settings.run.batch_pieces):
                batch = tagger.batch([examples[i] for i in positions])
                of_words = self.discriminator(states_and_logits(tagger, batch)[0]).sigmoid()
                sums = of_words.new_zeros(len(positions))
                sums.index_add_(0, batch.sentence_of_word, of_words)
                n_words = torch.bincount(batch.sentence_of_word, minlength=len(positions))
                means[positions] = (sums / n_words).cpu()
        return means


def least_telling(probabilities: Tensor, share: float) -> list[int]:
    """The positions of the sentences whose language is hardest to tell, in order: those with a
    probability nearest to a half. *Shape:* (sentences,).

    >>> least_telling(torch.tensor([0.9, 0.5, 0.45, 0.1]), 0.5)
    [1, 2]
    """
    n_kept = max(1, round(share * len(probabilities)))
    order = (probabilities - 0.5).abs().argsort(stable=True)
    return sorted(order[:n_kept].tolist())


def train_adversarial(
    source: Corpus,
    raw_text: Corpus,
    settings: Settings,
    folder: Path,
    callbacks: Sequence[Callback] = (),
) -> AdversarialModel:
    """Train in ``folder`` for the steps of direct training; the last weights are taken, so that
    they go with the discriminator. A training that was stopped resumes.
    """
    check_writable(folder)
    tagger = new_tagger(settings, TagSet(tuple(source.entities_by_label)))
    run_folder = RunFolder(folder)
    digests = {"source corpus": corpus_digest(source), "raw text": corpus_digest(raw_text)}
    run_folder.start(settings, digests | {"encoder": weights_digest(tagger.network)})
    examples, raw = tagger.examples(source), tagger.inputs(raw_text)
    discriminator = _new_discriminator(tagger, examples[0], settings)
    if is_model_folder(folder):
        return _finished(run_folder, discriminator, settings)
    state = AdversarialState(
        tagger.trainable,
        Adam(tagger.trainable, settings.optimizer),
        discriminator,
        Adam(dict(discriminator.named_parameters()), settings.optimizer),
        Adam(tagger.trainable, settings.optimizer),
    )
    source_facts = CorpusFacts.of(source, digests["source corpus"])
    facts = facts_of_training(settings.encoder.name, source=source_facts)
    parts = ModelParts(tagger, settings, datastore=None, adapts=False, facts=facts)
    step = adversarial_step(tagger, examples, raw, settings, state)
    model = run_and_save(parts, examples, step, state, run_folder, None, callbacks)
    return AdversarialModel(model, discriminator)


def _new_discriminator(tagger: Tagger, example: Example, settings: Settings) -> Discriminator:
    with torch.no_grad():
        width = states_and_logits(tagger, tagger.batch([example]))[0].shape[1]
    with seeded(settings.run.seed):
        return Discriminator(width, settings.adversary.states).to(tagger.device)


def _finished(
    run_folder: RunFolder, discriminator: Discriminator, settings: Settings
) -> AdversarialModel:
    """What an earlier training left."""
    checkpoint = Checkpoints(run_folder.training).checkpoint
    if not checkpoint.exists():
        raise RunError(
            f"{checkpoint}: expected the discriminator of the training, found nothing; remove "
            f"{run_folder.folder} to train again"
        )
    weights = under(_DISCRIMINATOR, read_tensors(checkpoint))
    load_weights(dict(discriminator.named_parameters()), weights)
    return AdversarialModel(load(run_folder.folder, device=settings.run.device), discriminator)
