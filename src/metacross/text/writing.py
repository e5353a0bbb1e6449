"""Writes sentences to files that read back equal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from metacross.errors import DataError
from metacross.text.atomic_files import atomic_path
from metacross.text.atomic_files import discard as discard
from metacross.text.conll import DOCUMENT_START
from metacross.text.sentence import Sentence
from metacross.text.tags import Scheme, tags_from_spans


def conll_lines(sentence: Sentence, scheme: Scheme = Scheme.IOB2) -> str:
    r"""A sentence as tab-parted lines of word and tag, of the word alone where it is unlabeled,
    and a blank line.

    >>> conll_lines(Sentence(("Ginebra",), ()))
    'Ginebra\tO\n\n'
    """
    for word in sentence.words:
        _check_writable(word, sentence)
    if sentence.spans is None:
        return "".join(f"{word}\n" for word in sentence.words) + "\n"
    tags = tags_from_spans(sentence.spans, len(sentence.words), scheme)
    rows = zip(sentence.words, tags, strict=True)
    return "".join(f"{word}\t{tag}\n" for word, tag in rows) + "\n"


def _check_writable(word: str, sentence: Sentence) -> None:
    """Some words cannot stand in a column file without changing when read."""
    alone = sentence.spans is None
    if (
        not word
        or "\n" in word
        or "\t" in word
        or word.startswith(DOCUMENT_START)
        or (alone and (" " in word or word.endswith("\r")))
    ):
        raise DataError(
            f"{sentence.place}: the word {word[:40]!r} cannot be written as CoNLL; "
            f"write JSON lines instead (a file name that ends in .jsonl)"
        )


def json_record(sentence: Sentence) -> dict[str, Any]:
    """A sentence as JSON: tokens, tags, and entities with word and character offsets."""
    layout = sentence.laid_out()
    record: dict[str, Any] = {"tokens": list(sentence.words)}
    if sentence.spans is not None:
        record["tags"] = list(tags_from_spans(sentence.spans, len(sentence.words)))
    record["text"] = layout.text
    if sentence.layout is not None:
        record["offsets"] = [list(pair) for pair in layout.offsets]
    if sentence.spans is not None:
        record["spans"] = []
        for span in sentence.spans:
            start_char, end_char = layout.offsets[span.start][0], layout.offsets[span.end - 1][1]
            record["spans"].append(
                {
                    "label": span.label,
                    "start": span.start,
                    "end": span.end,
                    "start_char": start_char,
                    "end_char": end_char,
                    "text": layout.text[start_char:end_char],
                }
            )
    if sentence.language is not None:
        record["language"] = sentence.language
    return record


def json_line(sentence: Sentence) -> str:
    """A sentence as a line of JSON, with its end."""
    return json.dumps(json_record(sentence), ensure_ascii=False) + "\n"


def write_corpus(
    sentences: Iterable[Sentence], path: str | Path, *, scheme: Scheme = Scheme.IOB2
) -> None:
    """Write JSON lines where the name ends in ``.jsonl`` or ``.json``, CoNLL elsewhere.

    The file appears whole or not at all.
    """
    path = Path(path)
    as_json = path.suffix.lower() in (".jsonl", ".json", ".ndjson")
    pieces = (json_line(s) if as_json else conll_lines(s, scheme) for s in sentences)
    write_atomically(path, pieces)


def write_atomically(path: Path, pieces: Iterable[str]) -> None:
    """Write pieces of text to a UTF-8 file that appears completely or not at all."""
    try:
        with (
            atomic_path(path) as temporary,
            temporary.open("w", encoding="utf-8", newline="\n") as file,
        ):
            for number, piece in enumerate(pieces):
                if number == 0 and piece.startswith("\ufeff"):
                    file.write("\ufeff")  # a reader drops the first one as a byte-order mark
                file.write(piece)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
