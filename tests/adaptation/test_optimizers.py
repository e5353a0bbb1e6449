"""Adam against torch's, and the released code's variant by hand."""

import math

import pytest
import torch
from torch import nn

from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.settings import OptimizerSettings, ScheduleSettings


def weights(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {
        "matrix": nn.Parameter(torch.randn(3, 4, generator=generator)),
        "bias": nn.Parameter(torch.randn(4, generator=generator)),
    }


def test_it_equals_torch_s_adam():
    ours, theirs = weights(), weights()
    adam = Adam(ours, OptimizerSettings())
    reference = torch.optim.Adam(theirs.values(), lr=1e-2)
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        gradients = [torch.randn(w.shape, generator=generator) for w in theirs.values()]
        adam.step(gradients, 1e-2)
        for weight, gradient in zip(theirs.values(), gradients, strict=True):
            weight.grad = gradient
        reference.step()
    for name in ours:
        assert torch.allclose(ours[name], theirs[name], atol=1e-7)


def test_weight_decay_is_torch_s_adamw_on_matrices_and_none_on_biases():
    ours, theirs = weights(), weights()
    adam = Adam(ours, OptimizerSettings(weight_decay=0.1))
    reference = torch.optim.AdamW(
        [
            {"params": [theirs["matrix"]], "weight_decay": 0.1},
            {"params": [theirs["bias"]], "weight_decay": 0.0},
        ],
        lr=1e-2,
    )
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        gradients = [torch.randn(w.shape, generator=generator) for w in theirs.values()]
        adam.step(gradients, 1e-2)
        for weight, gradient in zip(theirs.values(), gradients, strict=True):
            weight.grad = gradient
        reference.step()
    for name in ours:
        assert torch.allclose(ours[name], theirs[name], atol=1e-7)


def test_without_bias_correction_the_first_step_is_the_released_code_s():
    weight = {"w": nn.Parameter(torch.tensor([[1.0, -2.0]]))}
    settings = OptimizerSettings(bias_correction=False, epsilon=1e-6, weight_decay=0.01)
    Adam(weight, settings).step([torch.tensor([[0.3, -0.4]])], 0.1)
    wanted = []
    for old, g in ((1.0, 0.3), (-2.0, -0.4)):
        update = 0.1 * g / (math.sqrt(0.001 * g * g) + 1e-6) + 0.01 * old
        wanted.append(old - 0.1 * update)
    assert weight["w"][0].tolist() == pytest.approx(wanted, abs=1e-6)


def test_a_gradient_longer_than_the_limit_is_shortened_to_it():
    ours, theirs = weights(), weights()
    long = [torch.full((3, 4), 5.0), torch.full((4,), 0.1)]
    short = [long[0] / (5.0 * math.sqrt(12)), long[1]]
    # SGD would show it at once; Adam's second step does, since its moments remember the size.
    for own, gradients, clip in ((ours, long, 1.0), (theirs, short, None)):
        adam = Adam(own, OptimizerSettings(clip_norm=clip))
        adam.step(gradients, 1e-2)
        adam.step([g * 0.1 for g in short], 1e-2)
    for name in ours:
        assert torch.allclose(ours[name], theirs[name], atol=1e-6)


def test_it_goes_on_from_a_kept_state():
    through, stopped = weights(), weights()
    gradients = [[torch.randn(3, 4), torch.randn(4)] for _ in range(4)]
    adam = Adam(through, OptimizerSettings())
    first = Adam(stopped, OptimizerSettings())
    for number, gradient in enumerate(gradients):
        adam.step(gradient, 1e-2)
        if number < 2:
            first.step(gradient, 1e-2)
    second = Adam(stopped, OptimizerSettings())
    second.load_state(first.state())
    for gradient in gradients[2:]:
        second.step(gradient, 1e-2)
    assert all(torch.equal(through[name], stopped[name]) for name in through)


def test_the_linear_schedule_rises_for_a_tenth_and_falls_to_nothing():
    schedule = ScheduleSettings(decay="linear", warmup_ratio=0.1)
    factors = [learning_rate_factor(schedule, step, 100) for step in range(101)]
    assert factors[0] == 0
    assert factors[5] == pytest.approx(0.5)
    assert factors[10] == pytest.approx(1.0)
    assert factors[55] == pytest.approx(0.5)
    assert factors[100] == 0
    assert {learning_rate_factor(ScheduleSettings(), step, 100) for step in range(100)} == {1.0}
