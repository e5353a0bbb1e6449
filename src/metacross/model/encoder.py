"""Loads pre-trained encoders; only this module and ``mini_encoder`` know ``transformers``."""

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


def load_encoder(name: str) -> Encoder:
    """Load an encoder from a folder or by its hub name; ``mini`` is the bundled one."""
    network, missing = _load(transformers.AutoModel, name)
    _check_complete(missing, "pool", name)
    tokenizer = load_tokenizer(name)
    check_vocabulary(network, tokenizer, name)
    return Encoder(name, network.eval(), tokenizer)


def new_tagger_network(name: str, tags: Sequence[str], seed: int) -> nn.Module:
    """A pre-trained encoder with a new linear layer for these tags."""
    with seeded(seed):
        network, missing = _load(
            transformers.AutoModelForTokenClassification,
            name,
            id2label=dict(enumerate(tags)),
            label2id={tag: i for i, tag in enumerate(tags)},
            ignore_mismatched_sizes=True,
        )
    _check_complete(missing, "classifier head", name)
    return network.eval()


def load_tagger_network(folder: str | Path) -> tuple[nn.Module, tuple[str, ...]]:
    """Load the network of a saved tagger, and its tags in order."""
    network, missing = _load(transformers.AutoModelForTokenClassification, str(folder))
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
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ModelError(f"{name}: its tokenizer cannot be opened: {_reason(problem)}") from problem
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{name}: expected a fast tokenizer, found {type(tokenizer).__name__}")
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
    layer_lists = [
        module
        for module in encoder.modules()
        if isinstance(module, nn.ModuleList) and len(module) == n_layers
    ]
    if not layer_lists:
        raise ModelError(
            f"{type(encoder).__name__}: expected a list of {n_layers} layers to freeze some of, "
            f"found none; freeze nothing with encoder.frozen_layers=null"
        )
    return layer_lists[0]


def embedding_parameters(network: nn.Module) -> Iterator[nn.Parameter]:
    """The weights of piece and position embeddings."""
    encoder, layers = encoder_of(network), {*layers_of(network).parameters()}
    for name, parameter in encoder.named_parameters():
        if "embed" in name and parameter not in layers:
            yield parameter


def last_states(encoder: nn.Module, piece_ids: Tensor, attention: Tensor) -> Tensor:
    """The last layer's states. *Shape:* both (windows, pieces), result (windows, pieces, width)."""
    states: Tensor = encoder(input_ids=piece_ids, attention_mask=attention).last_hidden_state
    return states


def tag_logits(network: nn.Module, piece_ids: Tensor, attention: Tensor) -> Tensor:
    """A tagger's scores. *Shape:* both (windows, pieces), result (windows, pieces, tags)."""
    logits: Tensor = network(input_ids=piece_ids, attention_mask=attention).logits
    return logits


def head_dropout(network: nn.Module) -> nn.Dropout:
    """The dropout before the tagger's linear layer."""
    for name in ("dropout", "drop"):
        module = getattr(network, name, None)
        if isinstance(module, nn.Dropout):
            return module
    raise ModelError(f"{type(network).__name__}: expected a dropout before its linear layer")


def weights_digest(network: nn.Module) -> str:
    """A digest of all weights; networks with equal digests compute the same."""
    digest = hashlib.sha256(type(network).__name__.encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _load(
    opener: Any,  # noqa: ANN401 - transformers' automatic classes
    name: str,
    **options: Any,  # noqa: ANN401
) -> tuple[nn.Module, set[str]]:
    """Load a network; also returns the names of weights that its folder does not have."""
    name = _located(name)
    _check_folder(name)
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
    """The special pieces, whatever the tokenizer calls them: [CLS] or <s>, [MASK] or <mask>."""
    start = _either(tokenizer.cls_token_id, tokenizer.bos_token_id)
    end = _either(tokenizer.sep_token_id, tokenizer.eos_token_id)
    pad, unknown = tokenizer.pad_token_id, tokenizer.unk_token_id
    if start is None or end is None or pad is None:
        missing = "start" if start is None else "end" if end is None else "padding"
        raise ModelError(f"{name}: expected a tokenizer with a {missing} piece, found none")
    unknown = pad if unknown is None else unknown  # byte-level tokenizers have no unknown words
    return SpecialPieces(start, end, pad, unknown, tokenizer.mask_token_id)


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def check_vocabulary(network: nn.Module, tokenizer: EncoderTokenizer, name: str) -> None:
    """Refuse a tokenizer with more pieces than the network has embeddings."""
    rows = getattr(network.config, "vocab_size", None)
    pieces = len(tokenizer.fast)
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
