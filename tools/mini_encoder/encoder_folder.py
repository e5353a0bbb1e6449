"""Writes a student and its tokenizer as a Hugging Face encoder folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import transformers
from safetensors import SafetensorError
from safetensors.torch import save_file
from tokenizers import Tokenizer

from metacross.errors import ModelError
from metacross.model.encoder import save_network
from metacross.model.mini_encoder import MiniModel
from metacross.model.tokenizer import EncoderTokenizer
from metacross.text.windows import SpecialPieces
from tools.mini_encoder.vocabulary import SPECIALS

_SPECIAL_NAMES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_MAX_LENGTH = 512  # pieces; only a default that the tokenizer reports


def save_encoder(student: MiniModel, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the encoder so that ``config.json`` appears last: a folder with it is complete."""
    unfinished = folder / ".unfinished"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        save_network(student, fast_tokenizer(tokenizer), unfinished)
        _write_half_precision(student, unfinished / "model.safetensors")
        _remove_white_space(unfinished / "tokenizer.json")
        for file in sorted(unfinished.iterdir(), key=lambda file: file.name == "config.json"):
            file.replace(folder / file.name)
    except (OSError, SafetensorError) as problem:
        raise ModelError(f"{folder}: the encoder cannot be written: {problem}") from problem
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def fast_tokenizer(tokenizer: Tokenizer) -> EncoderTokenizer:
    """The tokenizer in the form that transformers saves and loads."""
    fast = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=_MAX_LENGTH,
        **dict(zip(_SPECIAL_NAMES, SPECIALS, strict=True)),
    )
    pad, unknown, start, end, mask = range(len(SPECIALS))
    return EncoderTokenizer(fast, SpecialPieces(start, end, pad, unknown, mask))


def _write_half_precision(student: MiniModel, path: Path) -> None:
    """Store float16 in place of float32; ``config.json`` still says that float32 is computed."""
    weights = {
        name: weight.half() if weight.is_floating_point() else weight
        for name, weight in student.state_dict().items()
    }
    save_file(weights, path, {"format": "pt"})


def _remove_white_space(path: Path) -> None:
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
