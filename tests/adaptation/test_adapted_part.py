"""Which weights of a tagger adapt."""

import copy

import pytest
import torch

import metacross
import tiny
from metacross.adaptation.adapted_part import adapting
from metacross.adaptation.textbook import adapted
from metacross.errors import ModelError
from metacross.settings import AdaptationSettings, OptimizerSettings
from tiny import tagger_on


def names(tagger, **settings):
    return {*adapting(tagger, AdaptationSettings(**settings)).trainable}


def test_by_default_all_trained_weights_adapt(encoders):
    tagger = tagger_on(encoders["bert"])
    assert names(tagger) == {*tagger.trainable}


def test_without_layers_only_the_classifier_adapts(encoders):
    assert names(tagger_on(encoders["bert"]), layers=0) == {"classifier.weight", "classifier.bias"}


def test_the_topmost_layers_adapt_with_the_classifier(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.frozen_layers=null")
    found = names(tagger, layers=1)
    n_layers = tagger.network.config.num_hidden_layers
    wanted = (f"bert.encoder.layer.{n_layers - 1}.", "classifier.")
    assert found == {name for name in tagger.trainable if name.startswith(wanted)}


def test_layers_that_are_frozen_in_training_do_not_adapt(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.frozen_layers=1")
    n_layers = tagger.network.config.num_hidden_layers
    assert names(tagger, layers=n_layers) == {*tagger.trainable}


def test_vectors_are_biases_and_norms(encoders):
    tagger = tagger_on(encoders["bert"])
    found = names(tagger, weights="vectors")
    assert found == {n for n in tagger.trainable if n.endswith("bias") or "LayerNorm" in n}


def test_more_layers_than_the_encoder_has_are_refused(encoders, trained_folder):
    with pytest.raises(ModelError, match=r"adaptation\.layers: expected at most .* found 99"):
        names(tagger_on(encoders["bert"]), layers=99)
    model = metacross.load(trained_folder, adaptation={"layers": 99})
    with pytest.raises(ModelError, match=r"adaptation\.layers"):
        model.predict("Ana")


@pytest.mark.parametrize("choice", [{"layers": 0}, {"layers": 1}, {"weights": "vectors"}])
def test_a_step_changes_these_weights_as_torch_s_sgd_does(encoders, choice):
    tagger = adapting(tagger_on(encoders["bert"]), AdaptationSettings(**choice))
    network = copy.deepcopy(tagger.network)
    support = tagger.examples(tiny.corpus(2, seed=3))
    weights = dict(network.named_parameters())
    reference = copy.copy(tagger)
    reference.network = network
    optimizer = torch.optim.SGD([weights[name] for name in tagger.trainable], lr=0.1)
    reference.loss(reference.batch(support), max_weight=0.0).backward()
    optimizer.step()
    with adapted(
        tagger,
        support,
        steps=1,
        learning_rate=0.1,
        max_weight=0.0,
        optimizer=OptimizerSettings(),
        optimizer_name="sgd",
    ):
        for name, weight in tagger.network.named_parameters():
            torch.testing.assert_close(weight, weights[name], atol=1e-6, rtol=1e-5)
