"""Gives an encoder random weights, as a control for its tests."""

from __future__ import annotations

import torch
from torch import nn

from metacross.model.devices import seeded
from metacross.model.mini_encoder import PackedEmbeddings


@torch.no_grad()
def randomize(network: nn.Module, seed: int) -> None:
    """Replace all weights in place: matrices by small random values, LayerNorm weights by 1, biases
    by 0.
    """
    std = float(getattr(network.config, "initializer_range", 0.02))
    with seeded(seed):
        for module in network.modules():
            if isinstance(module, PackedEmbeddings):
                module.codes.random_(0, 256)
                module.row_scale.fill_(float(module.row_scale.mean()))
        for name, weight in network.named_parameters():
            if weight.dim() > 1:
                weight.normal_(std=std)
            else:
                weight.fill_(0.0 if name.endswith("bias") else 1.0)
