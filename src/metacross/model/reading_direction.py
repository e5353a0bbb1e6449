"""Reads decoder language models as encoders: in both directions, or causally."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import torch
import transformers
from torch import nn
from transformers.modeling_layers import GenericForTokenClassification

from metacross.errors import ModelError

Attention: TypeAlias = Literal["bidirectional", "causal"]


class Gemma3TextForTokenClassification(  # type: ignore[no-untyped-call]
    GenericForTokenClassification,
    transformers.Gemma3PreTrainedModel,
):
    """Gemma 3's text model with dropout and a linear layer, which transformers does not have."""

    config_class = transformers.Gemma3TextConfig


if transformers.Gemma3TextConfig not in transformers.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING:
    transformers.AutoModelForTokenClassification.register(
        transformers.Gemma3TextConfig, Gemma3TextForTokenClassification, exist_ok=True
    )


def is_decoder(config: Any) -> bool:  # noqa: ANN401 - a configuration of any family
    """Whether a family was pre-trained to read from left to right only."""
    family = type(config)
    return (
        family in transformers.MODEL_FOR_CAUSAL_LM_MAPPING
        and family not in transformers.MODEL_FOR_MASKED_LM_MAPPING
    )


def set_attention(config: Any, attention: Attention | None, name: str) -> None:  # noqa: ANN401
    """Change a configuration so that its network reads in this direction.

    None reads decoders in both directions and leaves encoders as they are. The change is part of
    the saved configuration: transformers reads a saved model in the same direction.
    """
    if not is_decoder(config):
        if attention == "causal":
            raise ModelError(
                f"{name}: expected encoder.attention to be bidirectional or null for an encoder, "
                f"found causal"
            )
        return
    has_native_setting = getattr(config, "use_bidirectional_attention", False)  # EmbeddingGemma
    if has_native_setting and attention != "causal":
        return
    if has_native_setting:
        config.use_bidirectional_attention = False
    config.is_causal = attention == "causal"


def is_causal(network: nn.Module) -> bool:
    """Whether a network reads from left to right only."""
    config: Any = network.config
    if getattr(config, "use_bidirectional_attention", False):
        return False
    return is_decoder(config) and bool(getattr(config, "is_causal", True))


@torch.no_grad()
def check_attention(encoder: nn.Module, name: str) -> None:
    """Refuse a decoder that ignores its configuration and does not read in both directions."""
    config: Any = encoder.config
    if not is_decoder(config) or is_causal(encoder):
        return
    ids = torch.tensor([[1, 2, 3], [1, 2, 4]]) % config.vocab_size
    states = encoder.eval()(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    if torch.equal(states[0, 0], states[1, 0]):
        raise ModelError(
            f"{name}: expected a decoder that can read in both directions, found one that cannot; "
            f"set encoder.attention=causal"
        )
