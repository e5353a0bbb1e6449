"""Adam, in the forms that the paper and its released code use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from metacross.settings import OptimiserSettings, ScheduleSettings

_BETA_1, _BETA_2 = 0.9, 0.999  # of the Adam paper


class Adam:
    """Changes weights in place; fresh moments unless a state is loaded.

    The settings can leave out the bias correction, add decoupled weight decay on matrices, and
    limit the norm of each weight's gradient, as the optimiser of the released code does.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], settings: OptimiserSettings) -> None:
        self._names = list(weights)
        self._weights = [weight.detach() for weight in weights.values()]
        self._matrices = [weight for weight in self._weights if weight.dim() > 1]
        self._settings = settings
        self._mean = [torch.zeros_like(weight) for weight in self._weights]
        self._square = [torch.zeros_like(weight) for weight in self._weights]
        self.steps = 0

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], rate: float) -> None:
        """Take a step against the gradients, given in the order of the weights."""
        self.steps += 1
        gradients = list(gradients)
        if self._settings.clip_norm is not None:
            gradients = _clipped(gradients, self._settings.clip_norm)
        torch._foreach_lerp_(self._mean, gradients, 1 - _BETA_1)
        torch._foreach_mul_(self._square, _BETA_2)
        torch._foreach_addcmul_(self._square, gradients, gradients, 1 - _BETA_2)
        divisors = torch._foreach_sqrt(self._square)
        if self._settings.bias_correction:
            torch._foreach_div_(divisors, math.sqrt(1 - _BETA_2**self.steps))
        torch._foreach_add_(divisors, self._settings.epsilon)
        if self._settings.weight_decay and self._matrices:
            torch._foreach_mul_(self._matrices, 1 - rate * self._settings.weight_decay)
        size = rate / (1 - _BETA_1**self.steps) if self._settings.bias_correction else rate
        torch._foreach_addcdiv_(self._weights, self._mean, divisors, -size)

    def state(self) -> dict[str, Tensor]:
        """What must be kept to go on later."""
        moments = {f"mean.{name}": own for name, own in zip(self._names, self._mean, strict=True)}
        squares = zip(self._names, self._square, strict=True)
        moments |= {f"square.{name}": own for name, own in squares}
        return moments | {"steps": torch.tensor(self.steps)}

    @torch.no_grad()
    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a kept state."""
        for name, mean, square in zip(self._names, self._mean, self._square, strict=True):
            mean.copy_(state[f"mean.{name}"])
            square.copy_(state[f"square.{name}"])
        self.steps = int(state["steps"])


def _clipped(gradients: list[Tensor], norm: float) -> list[Tensor]:
    norms = torch._foreach_norm(gradients)
    return [
        gradient * torch.clamp(norm / (own + 1e-6), max=1.0)
        for gradient, own in zip(gradients, norms, strict=True)
    ]


def rate_factor(settings: ScheduleSettings, step: int, steps: int) -> float:
    """What a rate is multiplied with at a step (from 0) of so many.

    >>> linear = ScheduleSettings(decay="linear", warmup=0.5)
    >>> [rate_factor(linear, step, 4) for step in range(4)]
    [0.0, 0.5, 1.0, 0.5]
    """
    progress = step / steps
    if progress < settings.warmup:
        return progress / settings.warmup
    if settings.decay == "constant":
        return 1.0
    return (1 - progress) / (1 - settings.warmup)
