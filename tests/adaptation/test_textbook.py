"""Adaptation is a loan: the weights come back."""

import pytest
import torch

import tiny
from metacross.adaptation.textbook import adapted
from metacross.model.encoder import weights_digest
from metacross.settings import OptimizerSettings
from tiny import tagger_on

STEP = {"steps": 1, "learning_rate": 1e-2, "max_weight": 0.0, "optimizer": OptimizerSettings()}


@pytest.fixture
def tagger(encoders):
    return tagger_on(encoders["bert"])


def test_inside_the_block_the_weights_are_others_and_after_it_the_same_bits(tagger):
    before = weights_digest(tagger.network)
    with adapted(tagger, tagger.examples(tiny.corpus(2)), **STEP):
        assert weights_digest(tagger.network) != before
    assert weights_digest(tagger.network) == before


def test_the_weights_come_back_when_the_block_raises(tagger):
    before = weights_digest(tagger.network)
    with pytest.raises(ZeroDivisionError), adapted(tagger, tagger.examples(tiny.corpus(2)), **STEP):
        raise ZeroDivisionError
    assert weights_digest(tagger.network) == before


def test_the_weights_come_back_when_a_step_raises(tagger, monkeypatch):
    before = weights_digest(tagger.network)
    steps = []

    def loss_then_trouble(*arguments, **options):
        steps.append(1)
        if len(steps) == 2:
            raise MemoryError
        return original(*arguments, **options)

    original = tagger.loss
    monkeypatch.setattr(tagger, "loss", loss_then_trouble)
    with (
        pytest.raises(MemoryError),
        adapted(tagger, tagger.examples(tiny.corpus(2)), **{**STEP, "steps": 2}),
    ):
        raise AssertionError("the block must not begin")
    assert weights_digest(tagger.network) == before


def test_one_step_is_torch_s_adam_on_the_mean_loss_of_the_support(encoders):
    ours, theirs = tagger_on(encoders["bert"]), tagger_on(encoders["bert"])
    support = ours.examples(tiny.corpus(3))
    reference = torch.optim.Adam(theirs.trainable.values(), lr=1e-2)
    losses = [theirs.loss(theirs.batch([example]), max_weight=0.0) for example in support]
    torch.stack(losses).mean().backward()
    reference.step()
    with adapted(ours, support, **STEP):
        for name, weight in ours.trainable.items():
            assert torch.allclose(weight, theirs.trainable[name], atol=1e-6), name
