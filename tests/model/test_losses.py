"""Equations 3 and 13 on a worked example."""

import math

import pytest
import torch

from metacross.model.losses import sentence_losses

# Three words, two tags. The probability of the right tag is 1/2, 1/4 and 4/5.
LOGITS = torch.tensor([[0.0, 0.0], [math.log(3), 0.0], [0.0, math.log(4)]])
TAGS = torch.tensor([0, 1, 1])
WORD_LOSSES = [math.log(2), math.log(4), math.log(5 / 4)]


def test_equation_3_is_the_mean_over_the_words_of_each_sentence():
    losses = sentence_losses(LOGITS, TAGS, torch.tensor([0, 0, 1]), 2, max_weight=0.0)
    assert losses.tolist() == pytest.approx([sum(WORD_LOSSES[:2]) / 2, WORD_LOSSES[2]])


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_equation_13_adds_the_worst_word_of_each_sentence(weight):
    losses = sentence_losses(LOGITS, TAGS, torch.tensor([0, 0, 1]), 2, max_weight=weight)
    assert losses.tolist() == pytest.approx(
        [sum(WORD_LOSSES[:2]) / 2 + weight * WORD_LOSSES[1], (1 + weight) * WORD_LOSSES[2]]
    )


def test_the_gradient_of_the_maximum_goes_to_the_worst_word_only():
    logits = LOGITS.clone().requires_grad_()
    plain = torch.autograd.grad(
        sentence_losses(logits, TAGS, torch.zeros(3, dtype=torch.long), 1, max_weight=0.0).sum(),
        logits,
    )[0]
    whole = torch.autograd.grad(
        sentence_losses(logits, TAGS, torch.zeros(3, dtype=torch.long), 1, max_weight=2.0).sum(),
        logits,
    )[0]
    extra = whole - plain
    assert extra[[0, 2]].abs().max() == 0
    assert extra[1].tolist() == pytest.approx([2 * 3 / 4, -2 * 3 / 4])
