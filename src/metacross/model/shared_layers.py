"""Layers that taggers of several languages have in common (after Lin et al. 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

_FILTER_WIDTHS = (2, 3, 4)  # characters


class CharacterCnn(nn.Module):
    """Filters over 2, 3 and 4 characters, ``n_filters`` of each, and their maxima over a word."""

    def __init__(self, character_width: int, n_filters: int) -> None:
        super().__init__()
        self.filters = nn.ModuleList(
            nn.Conv1d(character_width, n_filters, width) for width in _FILTER_WIDTHS
        )
        self.width = len(_FILTER_WIDTHS) * n_filters

    def forward(self, characters: Tensor) -> Tensor:
        """The features of words. Characters of zeros are padding, of which every word gets as much
        as the widest filter, so that more of it changes nothing.

        *Shape:* characters (words, characters, character width), result (words, width).
        """
        padded = functional.pad(characters.transpose(1, 2), (0, max(_FILTER_WIDTHS)))
        maxima = [layer(padded).amax(dim=2) for layer in self.filters]  # each (words, filters)
        return torch.relu(torch.cat(maxima, dim=1))


class GatedLinear(nn.Module):
    """A mixture of two linear layers, one of a language's own and one that languages share; a gate
    weighs them for each word and each output.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.gate = nn.Linear(in_features, out_features)
        self.specific = nn.Linear(in_features, out_features)
        self.shared = nn.Linear(in_features, out_features)

    def forward(self, states: Tensor) -> Tensor:
        """``g * specific + (1 - g) * shared``, where ``g`` is the sigmoid of the gate.
        *Shape:* states (..., in features), result (..., out features).
        """
        gate = torch.sigmoid(self.gate(states))  # (..., out features)
        mixture: Tensor = gate * self.specific(states) + (1 - gate) * self.shared(states)
        return mixture
