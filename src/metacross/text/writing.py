"""Writes corpora to files that read back equal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from metacross.errors import DataError
from metacross.text.atomic_files import atomic_path
from metacross.text.conll import DOCUMENT_START
from metacross.text.sentence import Sentence
from metacross.text.tags import Scheme, tags_from_spans


def conll_lines(sentence: Sentence, scheme: Scheme = Scheme.IOB2) -> str:
    r"""A sentence as CoNLL: a line of word, tab and tag per word, and a blank line at the end.

    A sentence without annotation has words only.

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
    """Reject words that would not read back equal from a column file."""
    one_column = sentence.spans is None
    if (
        not word
        or "\n" in word
        or "\t" in word
        or word.startswith(DOCUMENT_START)
        or (one_column and (" " in word or word.endswith("\r")))
    ):
        raise DataError(
            f"{sentence.place}: the word {word[:40]!r} cannot be written as CoNLL; "
            f"write JSON lines instead, to a file with the suffix .jsonl"
        )


def json_record(sentence: Sentence) -> dict[str, Any]:
    """A sentence as a JSON object: tokens, tags, and entities with word and character offsets."""
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
    """A sentence as a line of JSON, with its line feed."""
    return json.dumps(json_record(sentence), ensure_ascii=False) + "\n"


def write_corpus(
    sentences: Iterable[Sentence], path: str | Path, *, scheme: Scheme = Scheme.IOB2
) -> None:
    """Write sentences to a file that ``read_corpus`` reads back equal.

    The file appears completely or not at all.

    Args:
        sentences: A corpus or other sentences.
        path: The file. The suffixes ``.jsonl``, ``.ndjson`` and ``.json`` mean JSON lines, all
            others CoNLL columns.
        scheme: Tag scheme of a CoNLL file. ``IO`` merges adjacent entities with the same label.

    Raises:
        DataError: The file cannot be written, or a word cannot be written as CoNLL.

    >>> import pathlib, tempfile
    >>> from metacross.text.sentence import Span
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "es.conll"
    >>> write_corpus([Sentence(("Ana", "Ruiz"), (Span(0, 2, "PER"),))], path)
    >>> print(path.read_text().expandtabs(), end="")
    Ana     B-PER
    Ruiz    I-PER
    <BLANKLINE>
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
