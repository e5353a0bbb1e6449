"""Chooses which weights of a tagger adapt."""

from __future__ import annotations

import copy

from metacross.errors import ModelError
from metacross.model.encoder import embedding_parameters, layers_of
from metacross.model.tagger import Tagger
from metacross.settings import AdaptationSettings


def adapting(tagger: Tagger, settings: AdaptationSettings) -> Tagger:
    """The same tagger, in which only the weights that adapt count as trainable.

    With ``layers`` these are the weights of the topmost layers and what comes after them, with
    ``weights="vectors"`` only biases and norms.
    """
    if settings.layers is None and settings.weights == "all":
        return tagger
    too_low = set() if settings.layers is None else _below(tagger, settings.layers)
    part = copy.copy(tagger)
    part.trainable = {
        name: weight
        for name, weight in tagger.trainable.items()
        if id(weight) not in too_low and (settings.weights == "all" or weight.dim() == 1)
    }
    return part


def _below(tagger: Tagger, n_layers: int) -> set[int]:
    """The ids of the weights below the ``n_layers`` topmost layers."""
    layers = layers_of(tagger.network)
    if n_layers > len(layers):
        raise ModelError(
            f"adaptation.layers: expected at most the encoder's {len(layers)} layers, "
            f"found {n_layers}"
        )
    lower = layers[: len(layers) - n_layers]
    return {id(weight) for layer in lower for weight in layer.parameters()} | {
        id(weight) for weight in embedding_parameters(tagger.network)
    }
