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


class FreshAdam:
    """The first steps of Adam on any part of a weight. Moments are not stored: they follow from the
    gradients so far. Makes as few passes over memory as possible and allocates none.
    """

    def __init__(self, settings: OptimizerSettings) -> None:
        self.settings = settings
        self._moments = [torch.empty(0)] * 2

    def step(
        self,
        weight: Tensor,
        gradients: Sequence[Tensor],
        learning_rate: float,
        *,
        out: Tensor,
        decays: bool,
    ) -> None:
        """Write to ``out`` the weight after a step on the last gradient.

        ``gradients`` are those of all steps so far, already clipped. ``decays`` is True for
        matrices, to which weight decay applies. On the first step ``out`` must not be the weight
        itself.
        """
        n_steps, corrected = len(gradients), self.settings.bias_correction
        size = learning_rate * (1 - _BETA_1) / (1 - _BETA_1**n_steps if corrected else 1)
        scale = math.sqrt((1 - _BETA_2) / (1 - _BETA_2**n_steps if corrected else 1))
        if n_steps == 1:
            mean, divisors = gradients[0], torch.abs(gradients[0], out=out)
        else:
            mean, divisors = self._sums(gradients)
        divisors.add_(self.settings.epsilon / scale)
        if decays and self.settings.weight_decay:
            weight = weight * (1 - learning_rate * self.settings.weight_decay)
        torch.addcdiv(weight, mean, divisors, value=-size / scale, out=out)

    def _sums(self, gradients: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Adam's weighted sum of the gradients so far, and the root of that of their squares."""
        *earlier, last = gradients
        if len(self._moments[0]) < last.numel():
            self._moments = [torch.empty(last.numel(), device=last.device) for _ in range(2)]
        mean, square = (buffer[: last.numel()].view(last.shape) for buffer in self._moments)
        torch.add(last, earlier[-1], alpha=_BETA_1, out=mean)
        torch.mul(last, last, out=square)
        square.addcmul_(earlier[-1], earlier[-1], value=_BETA_2)
        for age, gradient in enumerate(reversed(earlier[:-1]), start=2):
            mean.add_(gradient, alpha=_BETA_1**age)
            square.addcmul_(gradient, gradient, value=_BETA_2**age)
        return mean, square.sqrt_()


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
