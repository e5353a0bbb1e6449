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
        self._weights = {name: weight.detach() for name, weight in weights.items()}
        self._settings = settings
        self._mean = {name: torch.zeros_like(own) for name, own in self._weights.items()}
        self._square = {name: torch.zeros_like(own) for name, own in self._weights.items()}
        self.steps = 0

    def step(self, gradients: Sequence[Tensor], rate: float) -> None:
        """Take a step against the gradients, given in the order of the weights."""
        self.steps += 1
        for name, gradient in zip(self._weights, gradients, strict=True):
            own = clipped(gradient, self._settings.clip_norm)
            self.change(name, own, rate)

    @torch.no_grad()
    def change(
        self, name: str, gradient: Tensor, rate: float, *, rows: slice = slice(None)
    ) -> None:
        """Change some rows of a weight, as part of the step with the number ``steps``."""
        weight = self._weights[name][rows]
        mean, square = self._mean[name][rows], self._square[name][rows]
        if self.steps == 1:  # whatever the moments were
            torch.mul(gradient, 1 - _BETA_1, out=mean)
            torch.mul(gradient, gradient, out=square).mul_(1 - _BETA_2)
        else:
            mean.lerp_(gradient, 1 - _BETA_1)
            square.mul_(_BETA_2).addcmul_(gradient, gradient, value=1 - _BETA_2)
        divisors = torch.sqrt(square)
        size = rate
        if self._settings.bias_correction:
            divisors.div_(math.sqrt(1 - _BETA_2**self.steps))
            size = rate / (1 - _BETA_1**self.steps)
        divisors.add_(self._settings.epsilon)
        if self._settings.weight_decay and weight.dim() > 1:
            weight.mul_(1 - rate * self._settings.weight_decay)
        weight.addcdiv_(mean, divisors, value=-size)

    def state(self) -> dict[str, Tensor]:
        """What must be kept to go on later."""
        moments = {f"mean.{name}": own for name, own in self._mean.items()}
        moments |= {f"square.{name}": own for name, own in self._square.items()}
        return moments | {"steps": torch.tensor(self.steps)}

    @torch.no_grad()
    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a kept state."""
        for name in self._weights:
            self._mean[name].copy_(state[f"mean.{name}"])
            self._square[name].copy_(state[f"square.{name}"])
        self.steps = int(state["steps"])


def clipped(gradient: Tensor, clip_norm: float | None) -> Tensor:
    """A gradient, shortened where it is longer than allowed."""
    if clip_norm is None:
        return gradient
    return gradient * torch.clamp(clip_norm / (gradient.norm() + 1e-6), max=1.0)


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
