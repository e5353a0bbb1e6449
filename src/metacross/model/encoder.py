"""Loads pre-trained encoders, and hides how the families of ``transformers`` differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor, nn

from metacross.errors import ModelError
from metacross.model import mini_encoder
from metacross.model.devices import seeded
from metacross.model.encoder_files import (
    check_encoder_folder,
    encoder_location,
    first_line,
    quiet_transformers,
)
from metacross.model.reading_direction import (
    Attention,
    check_attention,
    is_causal,
    is_decoder,
    set_attention,
)
from metacross.model.tokenizer import EncoderTokenizer, check_vocabulary, load_tokenizer
from metacross.text.windows import SpecialPieces


@dataclass(frozen=True, slots=True)
class Encoder:
    """A pre-trained encoder with its tokenizer."""

    name: str
    network: nn.Module
    tokenizer: EncoderTokenizer


def load_encoder(
    name: str, *, attention: Attention | None = None, layers: int | None = None
) -> Encoder:
    """Load an encoder from a folder or by its hub name; ``mini`` is the bundled one.

    ``attention`` and ``layers`` are explained in :class:`metacross.settings.EncoderSettings`.
    """
    config = _config(name, attention=attention, layers=layers)
    opener: Any = transformers.AutoModel
    if config.is_encoder_decoder:  # T5: only its encoder is read
        opener = transformers.AutoModelForTextEncoding
    network, missing = _load(opener, name, config)
    _check_complete(missing, "pool", name)
    tokenizer = load_tokenizer(name)
    check_vocabulary(network, tokenizer, name)
    return Encoder(name, network.eval(), tokenizer)


def new_tagger_network(
    name: str,
    tags: Sequence[str],
    seed: int,
    *,
    attention: Attention | None = None,
    layers: int | None = None,
) -> nn.Module:
    """A pre-trained encoder with a new linear layer for these tags.

    ``attention`` and ``layers`` are explained in :class:`metacross.settings.EncoderSettings`.
    """
    config = _config(
        name,
        attention=attention,
        layers=layers,
        id2label=dict(enumerate(tags)),
        label2id={tag: i for i, tag in enumerate(tags)},
    )
    with seeded(seed):
        network, missing = _load(
            transformers.AutoModelForTokenClassification,
            name,
            config,
            ignore_mismatched_sizes=True,
        )
    _check_complete(missing, "classifier head score", name)
    check_attention(encoder_of(network), name)
    return network.eval()


def load_tagger_network(folder: str | Path) -> tuple[nn.Module, tuple[str, ...]]:
    """Load the network of a saved tagger, and its tags in order."""
    network, missing = _load(transformers.AutoModelForTokenClassification, str(folder), None)
    _check_complete(missing, "", str(folder))
    labels: dict[int, str] = getattr(network.config, "id2label", {})
    return network.eval(), tuple(labels[i] for i in sorted(labels))


def save_network(network: nn.Module, tokenizer: EncoderTokenizer, folder: Path) -> None:
    """Write a network and its tokenizer as a Hugging Face folder with safetensors."""
    with quiet_transformers():
        network.save_pretrained(folder)  # type: ignore[operator]
        tokenizer.fast.save_pretrained(folder)


def encoder_of(network: nn.Module) -> nn.Module:
    """The encoder inside a tagger's network; an encoder is returned as it is."""
    inner = network.base_model
    if not isinstance(inner, nn.Module):
        raise ModelError(f"expected an encoder in {type(network).__name__}, found none")
    return inner


def layers_of(network: nn.Module) -> nn.ModuleList:
    """The layers of an encoder, bottom first."""
    encoder = encoder_of(network)
    n_layers = getattr(encoder.config, "num_hidden_layers", None)
    for module in encoder.modules():
        layer_lists = [
            child
            for child in module.children()
            if isinstance(child, nn.ModuleList) and len(child) == n_layers
        ]
        if len(layer_lists) == 1:
            return layer_lists[0]
        if layer_lists:  # XLM: one list for each part of a layer
            return nn.ModuleList(nn.ModuleList(parts) for parts in zip(*layer_lists, strict=True))
    raise ModelError(
        f"{type(encoder).__name__}: expected a list of {n_layers} layers to freeze some of, "
        f"found none; freeze nothing with encoder.frozen_layers=null"
    )


def embedding_parameters(network: nn.Module) -> Iterator[nn.Parameter]:
    """The weights of piece and position embeddings and of the layers that normalize them."""
    encoder, layers = encoder_of(network), {*layers_of(network).parameters()}
    for name, parameter in encoder.named_parameters():
        if ("embed" in name or "norm_emb" in name) and parameter not in layers:
            yield parameter
    for module in encoder.modules():
        if isinstance(module, nn.Embedding):  # T5's relative positions are inside a layer
            yield from module.parameters()
        if isinstance(getattr(module, "rel_embeddings", None), nn.Embedding):  # DeBERTa
            norm = getattr(module, "LayerNorm", None)
            yield from norm.parameters() if isinstance(norm, nn.Module) else ()


def last_states(encoder: nn.Module, piece_ids: Tensor, attention: Tensor) -> Tensor:
    """The last layer's states. *Shape:* both (windows, pieces), result (windows, pieces, width)."""
    states: Tensor = encoder(input_ids=piece_ids, attention_mask=attention).last_hidden_state
    return states


def first_states(encoder: nn.Module, piece_ids: Tensor, attention: Tensor) -> Tensor:
    """The last layer's states of the first pieces. *Shape:* result (windows, width)."""
    if isinstance(encoder, mini_encoder.MiniModel):
        return encoder.first_states(piece_ids, attention)
    return last_states(encoder, piece_ids, attention)[:, 0]


def tag_logits(network: nn.Module, piece_ids: Tensor, attention: Tensor) -> Tensor:
    """A tagger's scores. *Shape:* both (windows, pieces), result (windows, pieces, tags)."""
    logits: Tensor = network(input_ids=piece_ids, attention_mask=attention).logits
    return logits


def head_dropout(network: nn.Module) -> nn.Dropout:
    """The dropout before the tagger's linear layer; it is added where the family has none."""
    for name in ("dropout", "drop"):
        module = getattr(network, name, None)
        if isinstance(module, nn.Dropout):
            return module
    linear = getattr(network, "classifier", None)
    if not isinstance(linear, nn.Linear):
        raise ModelError(f"{type(network).__name__}: expected a linear layer, found none")
    if not isinstance(getattr(linear, "dropout", None), nn.Dropout):  # EuroBERT
        linear.dropout = nn.Dropout(0.0).train(network.training)
        linear.register_forward_pre_hook(_drop_inputs)
    dropout: nn.Dropout = linear.dropout  # type: ignore[assignment]
    return dropout


def _drop_inputs(linear: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    dropped: Tensor = linear.dropout(inputs[0])  # type: ignore[operator]
    return dropped


def sentence_pooling(network: nn.Module, special: SpecialPieces, pooling: str | None) -> str:
    """How piece states become a sentence vector: ``cls``, ``mean`` or ``last``.

    None chooses by family: the first piece where it was trained to stand for the sentence, the
    last one of a causal decoder, which has read all others, and else the mean.
    """
    if pooling == "cls" and special.start is None:
        raise ModelError(
            "retrieval.pooling: expected mean, last or null, because the tokenizer has no start "
            "piece, found cls"
        )
    if pooling is not None:
        return pooling
    if is_causal(network):
        return "last"
    return "mean" if special.start is None or is_decoder(network.config) else "cls"


def weights_digest(network: nn.Module) -> str:
    """A digest of all weights; networks with equal digests compute the same."""
    digest = hashlib.sha256(type(network).__name__.encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _config(
    name: str,
    *,
    attention: Attention | None,
    layers: int | None,
    **values: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - a configuration of any family
    """The configuration of an encoder, changed as the settings ask."""
    name = encoder_location(name)
    check_encoder_folder(name)
    try:
        with quiet_transformers():
            config = transformers.AutoConfig.from_pretrained(
                name, trust_remote_code=False, **values
            )
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ModelError(f"{name}: cannot be opened: {first_line(problem)}") from problem
    set_attention(config, attention, name)
    if layers is not None:
        _keep_lowest_layers(config, layers, name)
    return config


def _keep_lowest_layers(config: Any, n_layers: int, name: str) -> None:  # noqa: ANN401
    total = getattr(config, "num_hidden_layers", 0)
    if n_layers > total:
        raise ModelError(
            f"encoder.layers: expected at most the encoder's {total} layers, found {n_layers}"
        )
    if n_layers == total:
        return
    try:
        config.num_hidden_layers = n_layers
    except AttributeError:
        raise ModelError(
            f"{name}: expected an encoder of equal layers to read {n_layers} of them, found one "
            f"that needs all {total}; set encoder.layers=null"
        ) from None
    if isinstance(getattr(config, "layer_types", None), list):
        config.layer_types = config.layer_types[:n_layers]


def _load(
    opener: Any,  # noqa: ANN401 - transformers' automatic classes
    name: str,
    config: Any,  # noqa: ANN401 - a configuration of any family; None: as in its folder
    **options: Any,  # noqa: ANN401
) -> tuple[nn.Module, set[str]]:
    """Load a network; also returns the names of weights that its folder does not have."""
    name = encoder_location(name)
    check_encoder_folder(name)
    if config is not None:
        options["config"] = config
    try:
        with quiet_transformers():
            network, info = opener.from_pretrained(
                name,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=torch.float32,
                output_loading_info=True,
                **options,
            )
            return network, set(info["missing_keys"])
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as problem:
        raise ModelError(f"{name}: the weights cannot be read: {first_line(problem)}") from problem


def _check_complete(missing: set[str], new_parts: str, name: str) -> None:
    """Refuse a network with missing weights, except in the parts that are new by design."""
    absent = [key for key in missing if not any(part in key for part in new_parts.split())]
    if absent:
        raise ModelError(
            f"{name}: expected all weights of the network, found {len(absent)} missing, "
            f"such as {min(absent)}"
        )
