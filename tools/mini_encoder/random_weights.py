"""Gives an encoder random weights: the control that shows what its training was worth."""

from __future__ import annotations

import torch
from torch import nn

from metacross.model.devices import seeded
from metacross.model.mini_encoder import PackedEmbeddings


@torch.no_grad()
def randomize(network: nn.Module, seed: int) -> None:
    """Draw all weights anew, in place: matrices small and random, gains 1, biases 0."""
    deviation = float(getattr(network.config, "initializer_range", 0.02))
    with seeded(seed):
        for module in network.modules():
            if isinstance(module, PackedEmbeddings):
                module.codes.random_(0, 256)
                module.row_scale.fill_(float(module.row_scale.mean()))
        for name, weight in network.named_parameters():
            if weight.dim() > 1:
                weight.normal_(std=deviation)
            else:
                weight.fill_(0.0 if name.endswith("bias") else 1.0)
