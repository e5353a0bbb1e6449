"""Makes a tokenizer give a word the same pieces at every position."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tokenizers import Tokenizer

_SPACE_MARK = "Ġ"  # how byte-level tokenizers write a space
_METASPACE = "▁"  # how SentencePiece writes a space
_LONGEST_MARK = 32  # vocabularies have pieces of up to 31 spaces


def for_single_words(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that gives a word the same pieces at every position, and never truncates or pads.

    Byte-level tokenizers and some SentencePiece ones mark the start of a word only after a space,
    which single words do not have.
    """
    configuration = json.loads(tokenizer.to_str())
    configuration["truncation"] = configuration["padding"] = None
    space = _missing_space(configuration)
    if space:
        earlier = configuration.get("normalizer")
        prepend = {"type": "Prepend", "prepend": space}
        steps = [prepend] if earlier is None else [earlier, prepend]
        configuration["normalizer"] = {"type": "Sequence", "normalizers": steps}
    else:
        _mark_every_word(configuration.get("pre_tokenizer"))
    copy = Tokenizer.from_str(json.dumps(configuration))
    copy.encode_special_tokens = True
    return copy


def word_mark_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """The ids of pieces that consist of spaces only, in tokenizers that write spaces as pieces.

    There are none in WordPiece vocabularies. A tokenizer that removes marks itself, as the bundled
    one does, has decided which marks remain: they count as text.
    """
    configuration = json.loads(tokenizer.to_str())
    steps = list(_steps(configuration.get("pre_tokenizer")))
    kinds = [step["type"] for step in steps]
    marks = {step["replacement"] for step in steps if step["type"] == "Metaspace"}
    if marks and any(
        step.get("behavior") == "Removed" for step in steps[kinds.index("Metaspace") :]
    ):
        return frozenset()
    if "ByteLevel" in kinds:
        marks.add(_SPACE_MARK)
    if any(_writes_metaspace(step) for step in _steps(configuration.get("normalizer"))):
        marks.add(_METASPACE)
    ids = (tokenizer.token_to_id(mark * n) for mark in marks for n in range(1, _LONGEST_MARK))
    return frozenset(piece for piece in ids if piece is not None)


def _missing_space(configuration: Mapping[str, Any]) -> str:
    """What must be put before a single word, so that it has the pieces that it has after a space;
    empty if a setting of the pre-tokenizer does it.
    """
    kinds = [step["type"] for step in _steps(configuration.get("pre_tokenizer"))]
    if "ByteLevel" in kinds:  # a split before it would separate the word from a space added later
        return " " if kinds.index("ByteLevel") > 0 else ""
    steps = list(_steps(configuration.get("normalizer")))
    if "Metaspace" in kinds or any(step["type"] == "Prepend" for step in steps):
        return ""
    return _METASPACE if any(_writes_metaspace(step) for step in steps) else ""


def _writes_metaspace(normalizer: Mapping[str, Any]) -> bool:
    """Whether a normalizer replaces spaces with ``▁``, as Gemma's does."""
    return (normalizer["type"], normalizer.get("content")) == ("Replace", _METASPACE)


def _steps(configuration: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - JSON
    """The normalizers or pre-tokenizers of a sequence, in order."""
    if configuration is None:
        return
    if configuration["type"] == "Sequence":
        for inner in configuration.get("pretokenizers") or configuration.get("normalizers"):
            yield from _steps(inner)
    else:
        yield configuration


def _mark_every_word(pre_tokenizer: Any) -> None:  # noqa: ANN401 - JSON
    for step in _steps(pre_tokenizer):
        if step["type"] == "ByteLevel":
            step["add_prefix_space"] = True
        elif step["type"] == "Metaspace":
            step["prepend_scheme"] = "always"
