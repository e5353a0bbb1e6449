"""Loads the tokenizer of an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers
from torch import nn

from metacross.errors import ModelError
from metacross.model.encoder_files import encoder_location, first_line, quiet_transformers
from metacross.text.windows import SpecialPieces, WindowCutter


@dataclass(frozen=True, slots=True)
class EncoderTokenizer:
    """The fast tokenizer of an encoder, and the special pieces of its vocabulary."""

    fast: Any
    special: SpecialPieces

    def window_cutter(self, *, max_length: int, overlap: int) -> WindowCutter:
        """Cuts sentences into windows of pieces."""
        return WindowCutter(
            self.fast.backend_tokenizer, self.special, max_length=max_length, overlap=overlap
        )


def load_tokenizer(name: str) -> EncoderTokenizer:
    """Load the tokenizer of an encoder."""
    name = encoder_location(name)
    _check_tokenizer_files(name)
    try:
        with quiet_transformers():
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except ImportError as problem:  # tokenizers without fast form need other packages
        raise ModelError(
            f"{name}: expected a fast tokenizer (tokenizer.json), found one without fast form: "
            f"{first_line(problem)}"
        ) from problem
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ModelError(
            f"{name}: its tokenizer cannot be opened: {first_line(problem)}"
        ) from problem
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{name}: expected a fast tokenizer (tokenizer.json), found only "
            f"{type(tokenizer).__name__}, which has no fast form"
        )
    return EncoderTokenizer(tokenizer, _special_pieces(tokenizer, name))


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
