"""Every encoder family is trained, stopped and resumed, adapts, is saved and loaded."""

import os
import signal

import pytest
import transformers
from safetensors.torch import load_file

import metacross
import tiny
from metacross.errors import ModelError, RunError
from metacross.training.callbacks import Callback

WITHOUT_MASK = ["t5", "mt5", "qwen3", "llama"]


def recipe(*overrides):
    steps = ("meta.steps=2", "run.validate_every=1", "encoder.layers=3", "encoder.frozen_layers=1")
    return metacross.load_settings("paper", [*tiny.FAST, *steps, *overrides])


def trained(encoder, family, folder, callbacks=()):
    return metacross.train(
        tiny.corpus(12),
        dev=tiny.corpus(6, seed=1),
        encoder=encoder,
        recipe=recipe(*(["masking.ratio=0"] if family in WITHOUT_MASK else [])),
        output=folder,
        callbacks=callbacks,
    )


class StopAfterOneStep(Callback):
    def on_step_end(self, step, result):
        if step == 1:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_a_family_is_trained_and_adapts_and_loads_again(encoders, family, tmp_path):
    model = trained(encoders[family], family, tmp_path)
    sentences = tiny.corpus(5, seed=2)
    before = list(model.predict_stream(sentences, adapt=True))
    loaded = metacross.load(tmp_path, device="cpu")
    after = list(loaded.predict_stream(sentences, adapt=True))
    assert (model.fallback_reason, loaded.fallback_reason) == (None, None)
    assert len(after) == len(sentences)
    for one, other in zip(before, after, strict=True):
        assert (one.spans, one.scores, one.neighbors) == (
            other.spans,
            other.scores,
            other.neighbors,
        )
    network = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path)
    assert network.config.num_hidden_layers == 3
    assert network.config.id2label[0] == "O"


@pytest.mark.slow
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_a_family_stopped_and_resumed_has_the_weights_of_an_uninterrupted_training(
    encoders, family, tmp_path
):
    with pytest.raises(RunError, match="Stopped after step 1 of 2"):
        trained(encoders[family], family, tmp_path / "stopped", [StopAfterOneStep()])
    for name in ("stopped", "whole"):
        trained(encoders[family], family, tmp_path / name)
    stopped, whole = (
        load_file(tmp_path / name / "model.safetensors") for name in ("stopped", "whole")
    )
    assert stopped.keys() == whole.keys()
    assert all(stopped[name].equal(whole[name]) for name in whole)


@pytest.mark.parametrize("family", WITHOUT_MASK)
def test_masking_without_a_mask_token_is_refused(encoders, family):
    with pytest.raises(ModelError, match=r"masking\.ratio: expected 0, because .* no mask token"):
        metacross.train(
            tiny.corpus(6), dev=tiny.corpus(3), encoder=encoders[family], recipe=recipe()
        )
