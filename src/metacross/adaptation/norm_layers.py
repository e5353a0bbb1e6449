"""Recognizes normalization layers by what they compute, whatever a family calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

_TOLERANCE = 1e-5  # of the check that a layer computes what is expected


@dataclass(frozen=True, slots=True)
class NormLayer:
    """A layer that computes ``normalized(x) * (offset + weight) + bias``.

    ``offset`` is 1 in Gemma, whose weights are differences from 1, and 0 in other families.
    """

    normalized: Callable[[Tensor], Tensor]
    offset: float


def norm_layer(module: nn.Module) -> NormLayer | None:
    """What a LayerNorm or RMSNorm computes; None if the module is neither.

    An RMSNorm is any layer with one vector of weights whose output on random input is that of
    ``x / sqrt(mean(x^2) + eps) * (offset + weight)``.
    """
    if isinstance(module, nn.LayerNorm):
        shape, eps = module.normalized_shape, module.eps
        return NormLayer(lambda x: functional.layer_norm(x, shape, None, None, eps), 0.0)
    weights = dict(module.named_parameters())
    if [*weights] != ["weight"] or weights["weight"].dim() != 1:
        return None
    epsilon = _epsilon(module)
    if epsilon is None:
        return None

    def normalized(x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + epsilon)

    return _verified(module, weights["weight"], normalized)


def _epsilon(module: nn.Module) -> float | None:
    for name in ("eps", "variance_epsilon"):
        value = getattr(module, name, None)
        if isinstance(value, float):
            return value
    return torch.finfo(torch.float32).eps if isinstance(module, nn.RMSNorm) else None


@torch.no_grad()
def _verified(
    module: nn.Module, weight: Tensor, normalized: Callable[[Tensor], Tensor]
) -> NormLayer | None:
    """The norm whose output equals the module's on random input; None if there is none."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, len(weight), generator=generator).to(weight.device)  # (rows, width)
    output = module(x)
    for offset in (0.0, 1.0):
        expected = normalized(x) * (offset + weight)
        if torch.allclose(output, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
            return NormLayer(normalized, offset)
    return None
