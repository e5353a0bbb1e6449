"""Loads pre-trained encoders. Only this module, ``reading_direction`` and ``mini_encoder`` know
``transformers``.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor, nn

from metacross.errors import ModelError
from metacross.model import mini_encoder as _registers_the_bundled_encoder  # noqa: F401
from metacross.model.devices import seeded
from metacross.model.reading_direction import (
    Attention,
    check_attention,
    is_causal,
    is_decoder,
    set_attention,
)
from metacross.text.windows import SpecialPieces, WindowCutter

MINI = "mini"
"""The name of the encoder that comes with metacross."""
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")


@dataclass(frozen=True, slots=True)
class EncoderTokenizer:
    """The fast tokenizer of an encoder, and the special pieces of its vocabulary."""

    fast: Any
    special: SpecialPieces

    def window_cutter(self, *, longest: int, overlap: int) -> WindowCutter:
        """Cuts sentences into windows of pieces."""
        return WindowCutter(
            self.fast.backend_tokenizer, self.special, max_length=longest, overlap=overlap
        )


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
    with _quiet():
        network.save_pretrained(folder)  # type: ignore[operator]
        tokenizer.fast.save_pretrained(folder)


def load_tokenizer(name: str) -> EncoderTokenizer:
    """Load the tokenizer of an encoder."""
    name = _located(name)
    _check_tokenizer_files(name)
    try:
        with _quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except ImportError as problem:  # tokenizers without fast form need other packages
        raise ModelError(
            f"{name}: expected a fast tokenizer (tokenizer.json), found one without fast form: "
            f"{_reason(problem)}"
        ) from problem
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ModelError(f"{name}: its tokenizer cannot be opened: {_reason(problem)}") from problem
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{name}: expected a fast tokenizer (tokenizer.json), found only "
            f"{type(tokenizer).__name__}, which has no fast form"
        )
    return EncoderTokenizer(tokenizer, _special_pieces(tokenizer, name))


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
    name = _located(name)
    _check_folder(name)
    try:
        with _quiet():
            config = transformers.AutoConfig.from_pretrained(
                name, trust_remote_code=False, **values
            )
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ModelError(f"{name}: cannot be opened: {_reason(problem)}") from problem
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
    name = _located(name)
    _check_folder(name)
    if config is not None:
        options["config"] = config
    try:
        with _quiet():
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
        raise ModelError(f"{name}: cannot be opened: {_reason(problem)}") from problem


def _located(name: str) -> str:
    """The folder or hub name of an encoder; the bundled one is in the package."""
    return str(resources.files("metacross") / "assets" / "encoder") if name == MINI else name


def _check_complete(missing: set[str], new_parts: str, name: str) -> None:
    """Refuse a network with missing weights, except in the parts that are new by design."""
    absent = [key for key in missing if not any(part in key for part in new_parts.split())]
    if absent:
        raise ModelError(
            f"{name}: expected all weights of the network, found {len(absent)} missing, "
            f"such as {min(absent)}"
        )


def _check_folder(name: str) -> None:
    """Report problems of a local folder in one line, before transformers reports them."""
    folder = Path(name)
    if not folder.is_dir():
        if folder.exists() or name.count("/") > 1 or name.startswith((".", "/")):
            found = "a file" if folder.exists() else "nothing there"
            raise ModelError(f"{name}: expected an encoder folder or a hub name, found {found}")
        return
    if not (folder / "config.json").exists():
        raise ModelError(f"{name}: expected config.json in the folder, found none")
    if not any(folder.glob("model*.safetensors")):
        pickles = [file.name for pattern in _PICKLES for file in folder.glob(pattern)]
        if pickles:
            raise ModelError(
                f"{name}: expected weights as safetensors, found only {pickles[0]}, a pickle, "
                f"which can run code; convert it where you trust it"
            )
        raise ModelError(f"{name}: expected model.safetensors in the folder, found none")


def _check_tokenizer_files(name: str) -> None:
    """Refuse a folder without tokenizer: transformers would make an empty vocabulary."""
    folder = Path(name)
    if folder.is_dir() and not any(
        any(folder.glob(pattern)) for pattern in ("tokenizer.json", "vocab.*", "*.model")
    ):
        raise ModelError(f"{name}: expected tokenizer.json in the folder, found none")


def _special_pieces(tokenizer: Any, name: str) -> SpecialPieces:  # noqa: ANN401 - transformers
    """The special pieces, whatever the tokenizer calls them: [CLS] or <s>, [MASK] or <mask>.

    Start and end piece are those that the tokenizer adds to a sentence. If it adds neither, they
    are its [CLS] or <s> and its [SEP]; the end of text of a language model is no end piece.
    """
    start, end = _added_pieces(tokenizer)
    if start is None and end is None:
        start, end = _either(tokenizer.cls_token_id, tokenizer.bos_token_id), tokenizer.sep_token_id
    unknown = tokenizer.unk_token_id
    pad = _either(tokenizer.pad_token_id, _either(tokenizer.eos_token_id, unknown))
    if pad is None:
        raise ModelError(f"{name}: expected a tokenizer with a padding piece, found none")
    unknown = pad if unknown is None else unknown  # byte-level tokenizers have no unknown words
    return SpecialPieces(start, end, pad, unknown, tokenizer.mask_token_id)


def _added_pieces(tokenizer: Any) -> tuple[int | None, int | None]:  # noqa: ANN401 - transformers
    """The pieces that a tokenizer adds before and after a sentence."""
    backend = tokenizer.backend_tokenizer
    pieces = backend.encode("a", add_special_tokens=False)
    ids = backend.post_process(pieces).ids
    n_before = next((i for i, piece in enumerate(ids) if piece == pieces.ids[0]), 0)
    after = ids[n_before + len(pieces.ids) :]
    return (ids[0] if n_before else None), (after[-1] if after else None)


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def check_vocabulary(network: nn.Module, tokenizer: EncoderTokenizer, name: str) -> None:
    """Refuse a tokenizer with pieces that the network has no embeddings for.

    Special pieces that no sentence contains, such as the image piece of Gemma, do not count.
    """
    rows = getattr(network.config, "vocab_size", None)
    backend = tokenizer.fast.backend_tokenizer
    special = {id_ for id_, piece in backend.get_added_tokens_decoder().items() if piece.special}
    pieces = 1 + max({*backend.get_vocab().values()} - special)
    if isinstance(rows, int) and pieces > rows:
        raise ModelError(
            f"{name}: expected a vocabulary of at most {rows:,} pieces, as many as the encoder "
            f"has embeddings, found {pieces:,}"
        )


def _reason(problem: Exception) -> str:
    """The first line of an error message."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(problem).__name__


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence transformers' log messages and progress bars inside the block."""
    logging: Any = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
