"""The outputs of frozen layers are computed once."""

import pytest
import torch

import metacross
import tiny
from metacross.model.encoder import layers_of
from metacross.model.frozen_cache import FrozenCache

WITHOUT_DROPOUT = ["modernbert", "eurobert", *tiny.DECODERS]


def calls_of(layer):
    """Counts the windows that a layer computes."""
    counts = []
    linear = next(module for module in layer.modules() if isinstance(module, torch.nn.Linear))
    linear.register_forward_pre_hook(lambda _module, inputs: counts.append(len(inputs[0])))
    return counts


def logits_of(tagger, examples):
    with torch.no_grad():
        return tagger.logits(tagger.batch(examples))


def examples_of(tagger, n_sentences=6):
    return tagger.examples(tiny.corpus(n_sentences))


@pytest.mark.parametrize("family", WITHOUT_DROPOUT)
def test_a_tagger_has_the_same_logits_with_the_cache(encoders, family):
    tagger = tiny.tagger_on(encoders[family], "encoder.frozen_layers=2")
    examples = examples_of(tagger)
    expected = logits_of(tagger, examples)
    with tagger.frozen_cache(examples, memory_bytes=2**20):
        for batch in (examples, examples[:2], examples):
            logits = logits_of(tagger, batch)
            torch.testing.assert_close(logits, expected[: len(logits)], rtol=0, atol=1e-5)
    torch.testing.assert_close(logits_of(tagger, examples), expected, rtol=0, atol=0)


@pytest.mark.parametrize("family", WITHOUT_DROPOUT)
def test_gradients_are_the_same_with_the_cache(encoders, family):
    tagger = tiny.tagger_on(encoders[family], "encoder.frozen_layers=2")
    examples = examples_of(tagger)

    def gradients():
        loss = tagger.loss(tagger.batch(examples), max_weight=1.0)
        return torch.autograd.grad(loss, list(tagger.trainable.values()))

    expected = gradients()
    with tagger.frozen_cache(examples, memory_bytes=2**20):
        for gradient, other in zip(gradients(), expected, strict=True):
            torch.testing.assert_close(gradient, other, rtol=1e-4, atol=1e-6)


def test_a_frozen_layer_computes_a_sentence_once(encoders):
    tagger = tiny.tagger_on(encoders["gemma3"], "encoder.frozen_layers=2")
    examples = examples_of(tagger)
    with tagger.frozen_cache(examples, memory_bytes=2**20):
        frozen, trained = (calls_of(layers_of(tagger.network)[i]) for i in (1, 2))
        for _ in range(3):
            logits_of(tagger, examples)
    assert sum(frozen) == len({example.windows[0].piece_ids for example in examples})
    assert trained == [6, 6, 6]


def test_the_cache_keeps_to_its_memory(encoders):
    tagger = tiny.tagger_on(encoders["gemma3"], "encoder.frozen_layers=2")
    windows = [example.windows[0].piece_ids for example in examples_of(tagger)]
    room = 4 * 32 * (len(windows[0]) + len(windows[1]))  # two windows of 32 float32 numbers a piece
    cache = FrozenCache(tagger.network, 2, tagger.tokenizer.special, memory_bytes=room)
    states = cache.states(windows)
    assert 0 < cache.n_bytes <= room
    torch.testing.assert_close(cache.states(windows), states, rtol=0, atol=0)


def test_masked_sentences_are_not_kept(encoders):
    tagger = tiny.tagger_on(encoders["gemma3"], "encoder.frozen_layers=2")
    mask = tagger.tokenizer.special.mask
    cache = FrozenCache(tagger.network, 2, tagger.tokenizer.special, memory_bytes=2**20)
    first, second = (example.windows[0].piece_ids for example in examples_of(tagger, 2))
    masked = (*first[:2], mask, *first[3:])
    alone = cache.states([masked])
    assert cache.n_bytes == 0
    together = cache.states([second, masked])[1, : len(masked)]
    torch.testing.assert_close(together, alone[0], rtol=0, atol=1e-5)
    assert cache.n_bytes == 4 * 32 * len(second)


@pytest.mark.parametrize("family", ["bert", "xlm-r", "distilbert", "mdeberta", "t5", "xlm"])
def test_layers_with_dropout_or_shared_biases_are_not_cached(encoders, family):
    tagger = tiny.tagger_on(encoders[family], "encoder.frozen_layers=2")
    examples = examples_of(tagger)
    counts = calls_of(layers_of(tagger.network)[0])
    with tagger.frozen_cache(examples, memory_bytes=2**20):
        counts.clear()
        for _ in range(2):
            logits_of(tagger, examples)
    assert counts.count(6) == 2  # DeBERTa's also project positions, once for all sentences


@pytest.mark.parametrize("method", ["meta", "direct"])
def test_a_training_has_the_same_weights_with_the_cache(encoders, method):
    def weights(megabytes):
        settings = metacross.load_settings(
            "paper",
            [
                *tiny.FAST,
                f"run.method={method}",
                f"run.frozen_cache_mb={megabytes}",
                "encoder.frozen_layers=2",
                "direct.steps=4",
                "optimizer.epsilon=1e-3",
            ],
        )
        model = metacross.train(
            tiny.corpus(12),
            dev=tiny.corpus(6, seed=1),
            encoder=encoders["gemma3"],
            recipe=settings,
        )
        return model.tagger.network.state_dict()

    cached = weights(100)
    for name, weight in weights(0).items():
        torch.testing.assert_close(cached[name], weight, rtol=0, atol=1e-4)
