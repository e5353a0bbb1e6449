"""The optimizers of the paper and of its released code, and learning-rate schedules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from metacross.settings import InnerOptimizer, OptimizerSettings, ScheduleSettings

_BETA_1, _BETA_2 = 0.9, 0.999  # of the Adam paper


class Adam:
    """Updates weights in place; its moments start at zero unless a state is loaded.

    The settings can turn off bias correction, add decoupled weight decay on matrices, and clip the
    gradient norm of each weight, as the optimizer of the released code does.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], settings: OptimizerSettings) -> None:
        self._weights = {name: weight.detach() for name, weight in weights.items()}
        self._settings = settings
        self._mean = {name: torch.zeros_like(weight) for name, weight in self._weights.items()}
        self._square = {name: torch.zeros_like(weight) for name, weight in self._weights.items()}
        self.steps = 0

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], learning_rate: float) -> None:
        """Take a step against the gradients, given in the order of the weights."""
        self.steps += 1
        settings = self._settings
        for (name, weight), gradient in zip(self._weights.items(), gradients, strict=True):
            gradient = clipped(gradient, settings.clip_norm)
            mean = self._mean[name].lerp_(gradient, 1 - _BETA_1)
            square = self._square[name].mul_(_BETA_2)
            square.addcmul_(gradient, gradient, value=1 - _BETA_2)
            divisors = torch.sqrt(square)
            size = learning_rate
            if settings.bias_correction:
                divisors.div_(math.sqrt(1 - _BETA_2**self.steps))
                size = learning_rate / (1 - _BETA_1**self.steps)
            divisors.add_(settings.epsilon)
            if settings.weight_decay and weight.dim() > 1:
                weight.mul_(1 - learning_rate * settings.weight_decay)
            weight.addcdiv_(mean, divisors, value=-size)

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold to resume."""
        moments = {f"mean.{name}": mean for name, mean in self._mean.items()}
        moments |= {f"square.{name}": square for name, square in self._square.items()}
        return moments | {"steps": torch.tensor(self.steps)}

    @torch.no_grad()
    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Resume from the state of a checkpoint."""
        for name in self._weights:
            self._mean[name].copy_(state[f"mean.{name}"])
            self._square[name].copy_(state[f"square.{name}"])
        self.steps = int(state["steps"])


class Descent:
    """Gradient descent without memory of earlier steps.

    With ``normalized``, a gradient is divided by its root mean square: the step of each weight has
    the size of Adam's first one, but is still a multiple of its gradient.
    """

    def __init__(
        self, weights: Mapping[str, nn.Parameter], settings: OptimizerSettings, *, normalized: bool
    ) -> None:
        self._weights = [weight.detach() for weight in weights.values()]
        self._settings = settings
        self._normalized = normalized

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], learning_rate: float) -> None:
        """Take a step against the gradients, given in the order of the weights."""
        settings = self._settings
        for weight, gradient in zip(self._weights, gradients, strict=True):
            gradient = clipped(gradient, settings.clip_norm)
            size = learning_rate
            if self._normalized:
                size /= gradient.square().mean().sqrt().item() + settings.epsilon
            if settings.weight_decay and weight.dim() > 1:
                weight.mul_(1 - learning_rate * settings.weight_decay)
            weight.sub_(gradient, alpha=size)


class Optimizer(Protocol):
    """Updates weights in place."""

    def step(self, gradients: Sequence[Tensor], learning_rate: float) -> None:
        """Take a step against the gradients, given in the order of the weights."""


def inner_optimizer(
    name: InnerOptimizer, weights: Mapping[str, nn.Parameter], settings: OptimizerSettings
) -> Optimizer:
    """A new optimizer for a few steps on a support set."""
    if name == "adam":
        return Adam(weights, settings)
    return Descent(weights, settings, normalized=name == "normalized")


def first_adam_step(
    weight: Tensor,
    gradient: Tensor,
    learning_rate: float,
    settings: OptimizerSettings,
    *,
    out: Tensor,
    decays: bool,
) -> None:
    """Write to ``out`` a weight, or a part of it, after the first step of :class:`Adam`, in as few
    passes over memory as possible.

    ``gradient`` is already clipped. ``decays`` is True for matrices, to which weight decay applies.
    ``out`` must not be the weight itself.
    """
    corrected = settings.bias_correction
    size = learning_rate * (1 if corrected else 1 - _BETA_1)
    scale = 1 if corrected else math.sqrt(1 - _BETA_2)
    divisors = torch.abs(gradient, out=out).add_(settings.epsilon / scale)
    if decays and settings.weight_decay:
        weight = weight * (1 - learning_rate * settings.weight_decay)
    torch.addcdiv(weight, gradient, divisors, value=-size / scale, out=out)


def clipped(gradient: Tensor, clip_norm: float | None) -> Tensor:
    """A gradient, scaled down if its norm exceeds ``clip_norm``."""
    if clip_norm is None:
        return gradient
    return gradient * torch.clamp(clip_norm / (gradient.norm() + 1e-6), max=1.0)


def learning_rate_factor(settings: ScheduleSettings, step: int, steps: int) -> float:
    """Learning-rate multiplier at ``step``, counted from 0, out of ``steps``.

    >>> linear = ScheduleSettings(decay="linear", warmup_ratio=0.5)
    >>> [learning_rate_factor(linear, step, 4) for step in range(4)]
    [0.0, 0.5, 1.0, 0.5]
    """
    progress = step / steps
    if progress < settings.warmup_ratio:
        return progress / settings.warmup_ratio
    if settings.decay == "constant":
        return 1.0
    return (1 - progress) / (1 - settings.warmup_ratio)
