"""Frozen layers that a tagger shares with its encoder from before training."""

import pytest
import torch

import metacross
import tiny
from metacross.adaptation.ner_model import NerModel
from metacross.model.encoder import layers_of
from metacross.model.frozen_states import FrozenStates
from metacross.model.sentence_encoder import SentenceEncoder, pretrained_twin

LEFT_ALONE = {"xlm", "t5", "mt5"}  # their layers are not modules, or return more than states


def counted_calls(layer):
    """Counts the windows that a layer computes."""
    counts = []
    linear = next(module for module in layer.modules() if isinstance(module, torch.nn.Linear))
    linear.register_forward_pre_hook(lambda _module, inputs: counts.append(len(inputs[0])))
    return counts


def trained_tagger(folder, frozen_layers=2):
    """A tagger whose upper layers have changed, and the sentence encoder from before."""
    tagger = tiny.tagger_on(folder, f"encoder.frozen_layers={frozen_layers}")
    pretrained = {name: weight.detach().clone() for name, weight in tagger.trainable.items()}
    with torch.no_grad():
        for weight in tagger.trainable.values():
            weight.add_(0.05 * torch.randn_like(weight))
    twin = pretrained_twin(tagger.network, pretrained)
    return tagger, SentenceEncoder(twin, tagger.window_cutter, "mean", tagger.device)


def logits_of(tagger, examples):
    with torch.no_grad():
        return tagger.logits(tagger.batch(examples))


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_a_tagger_takes_what_the_sentence_encoder_computed(encoders, family):
    tagger, sentence_encoder = trained_tagger(encoders[family])
    examples = tagger.inputs(tiny.corpus(6))
    expected = logits_of(tagger, examples)
    windows = [example.windows for example in examples]
    states = FrozenStates(2)
    vectors = sentence_encoder.vectors_of_windows(windows, frozen_states=states)
    assert (vectors == sentence_encoder.vectors_of_windows(windows)).all()
    assert len(states) == (0 if family in LEFT_ALONE else len({w.piece_ids for (w,) in windows}))
    with tagger.frozen_states(states):
        torch.testing.assert_close(logits_of(tagger, examples), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(logits_of(tagger, examples), expected, rtol=0, atol=0)


def test_frozen_layers_compute_only_what_is_not_known(encoders):
    tagger, sentence_encoder = trained_tagger(encoders["bert"])
    known, new = tagger.inputs(tiny.corpus(4, seed=1)), tagger.inputs(tiny.corpus(3, seed=2))
    states = FrozenStates(2)
    sentence_encoder.vectors_of_windows([e.windows for e in known], frozen_states=states)
    calls = counted_calls(layers_of(tagger.network)[0])
    with tagger.frozen_states(states):
        logits_of(tagger, known[:2])
        logits_of(tagger, known)
        assert calls == []
        logits_of(tagger, [*known, *new])
        assert calls == [7]


def test_memory_is_bounded(encoders):
    tagger, sentence_encoder = trained_tagger(encoders["bert"])
    windows = [example.windows for example in tagger.inputs(tiny.corpus(6, seed=1))]
    states = FrozenStates(2, max_bytes=1)
    sentence_encoder.vectors_of_windows(windows, frozen_states=states)
    assert len(states) == 0


def test_the_network_is_as_before_when_the_block_raises(encoders):
    tagger, sentence_encoder = trained_tagger(encoders["bert"])
    examples = tagger.inputs(tiny.corpus(4, seed=1))
    states = FrozenStates(2)
    sentence_encoder.vectors_of_windows([e.windows for e in examples], frozen_states=states)
    calls = counted_calls(layers_of(tagger.network)[0])
    with pytest.raises(ZeroDivisionError), tagger.frozen_states(states):
        raise ZeroDivisionError
    logits_of(tagger, examples)
    assert calls == [4]


@pytest.mark.slow
def test_adapted_prediction_computes_frozen_layers_of_test_sentences_once(encoders, tmp_path):
    settings = ["meta.steps=1", "meta.tasks_per_step=2", "encoder.frozen_layers=2"]
    settings += ["adaptation.optimizer=normalized", "run.device=cpu"]
    recipe = metacross.load_settings("paper", settings)
    model = metacross.train(
        tiny.corpus(12, seed=3), dev=tiny.corpus(3, seed=4), encoder=encoders["bert"], recipe=recipe
    )
    sentences = tiny.corpus(5, seed=5)
    list(model.predict_stream(sentences))  # gradients of the source sentences are recorded
    calls = counted_calls(layers_of(model.tagger.network)[0])
    again = list(NerModel(model.parts, engine="textbook").predict_stream(sentences))
    calls.clear()
    model._adapter._recent_vectors = type(model._adapter._recent_vectors)()
    predictions = list(model.predict_stream(sentences))
    assert calls == []
    assert [p.labeled for p in predictions] == [p.labeled for p in again]
