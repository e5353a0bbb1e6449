"""Networks of two languages: the gate, the character CNN, and weights that are the same."""

import math

import pytest
import torch

import tiny
from metacross.baseline_settings import BilstmCrfSettings
from metacross.model.bilstm_crf import BilstmCrfNetwork, Vocabulary
from metacross.model.shared_layers import CharacterCnn, GatedLinear
from metacross.text.sentence import Sentence
from metacross.training.word_tagger_training import (
    TaggedText,
    TaggingTask,
    parts_of_mini_batch,
    trainable,
)

SMALL = BilstmCrfSettings(
    character_width=3, character_states=4, states=5, attention=False, dropout=0.0
)
CORPUS = tiny.corpus(6)
CHARACTERS = tuple(sorted({c for s in CORPUS for word in s.words for c in word}))


def network(seed, **layers):
    torch.manual_seed(seed)
    return BilstmCrfNetwork(torch.randn(3, 4), len(CHARACTERS), len(tiny.TAGS), SMALL, **layers)


def task(one):
    vocabulary = Vocabulary(("ana", "went"), CHARACTERS)
    return TaggingTask(one, vocabulary, TaggedText.of_entities(CORPUS, tiny.TAGS), 6)


def test_the_gate_mixes_as_worked_out_by_hand():
    layer = GatedLinear(1, 1)
    for part, weight, bias in [("gate", 1, 0), ("specific", 3, 1), ("shared", -2, 0)]:
        linear = getattr(layer, part)
        torch.nn.init.constant_(linear.weight, weight)
        torch.nn.init.constant_(linear.bias, bias)
    # at ln 3 the gate is 3 / (1 + 3) = 3/4
    state = math.log(3)
    expected = 0.75 * (3 * state + 1) + 0.25 * (-2 * state)
    assert layer(torch.tensor([[state]])).item() == pytest.approx(expected, abs=1e-6)


def test_the_gate_is_of_each_output():
    layer = GatedLinear(1, 2)
    with torch.no_grad():
        layer.gate.weight.zero_()
        layer.gate.bias.copy_(torch.tensor([100.0, -100.0]))
    states = torch.randn(4, 1)
    mixed, specific, shared = layer(states), layer.specific(states), layer.shared(states)
    torch.testing.assert_close(mixed, torch.stack([specific[:, 0], shared[:, 1]], dim=1))


def test_filters_give_the_maximum_over_a_word():
    cnn = CharacterCnn(1, 1)
    for layer in cnn.filters:
        torch.nn.init.ones_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    word = torch.tensor([[[1.0], [5.0], [2.0], [-9.0]]])
    torch.testing.assert_close(cnn(word), torch.tensor([[7.0, 8.0, 0.0]]))  # the last: relu(-1)


def test_padding_does_not_change_what_the_filters_read():
    cnn = CharacterCnn(3, 2)
    word = torch.randn(1, 2, 3)  # shorter than the widest filter
    torch.testing.assert_close(cnn(word), cnn(torch.nn.functional.pad(word, (0, 0, 0, 5))))


@pytest.mark.parametrize(
    ("layers", "methods", "parts"),
    [
        ({}, ["share_characters"], {"characters", "character_lstm"}),
        (
            {"character_filters": 2, "gated": True},
            ["share_words", "share_tags"],
            {"characters", "character_cnn", "lstm", "crf", "output.shared"},
        ),
    ],
)
def test_shared_weights_are_the_same_and_learn_from_each_language_alone(layers, methods, parts):
    target, source = network(1, **layers), network(2, **layers)
    for method in methods:
        getattr(source, method)(target)
    of_source = dict(source.named_parameters())
    shared = {name for name, weight in target.named_parameters() if weight is of_source[name]}
    assert shared == {name for name in of_source if name.startswith(tuple(f"{p}." for p in parts))}
    tasks = [task(target), task(source)]
    assert len(trainable(tasks)) == 2 * len(of_source) - len(shared)
    for learning, other in (tasks, tasks[::-1]):
        weights = dict(learning.network.named_parameters())
        of_other = [w for n, w in other.network.named_parameters() if n not in shared]
        loss = learning.losses(range(6)).sum()
        gradients = torch.autograd.grad(loss, [*weights.values(), *of_other], allow_unused=True)
        for name, gradient in zip(weights, gradients, strict=False):
            assert gradient.abs().sum() > 0, name
        assert of_other
        assert gradients[len(weights) :] == (None,) * len(of_other)


def test_a_mini_batch_has_the_parts_of_the_paper_s_example():
    # 83 Spanish and 14,041 English sentences: 8 and 10 of 18
    weights = [math.sqrt(83), 0.1 * math.sqrt(14_041)]
    assert parts_of_mini_batch(weights, 18) == [8, 10]


def test_a_word_of_unknown_characters_is_read():
    one = network(3, character_filters=2)
    inputs = Vocabulary(("ana",), CHARACTERS).inputs([Sentence(("ЖЖ", "ana"))])
    assert torch.isfinite(one(*inputs)).all()
