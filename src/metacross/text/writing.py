"""Writes corpora to files that read back equal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from metacross.errors import DataError, SettingsError
from metacross.text.annotation_formats.brat import (
    ANNOTATIONS,
    TEXT,
    WORDS,
    brat_files,
    document_file,
)
from metacross.text.annotation_formats.proposal import Item, sentence_of
from metacross.text.annotation_formats.writers import tool_pieces
from metacross.text.atomic_files import atomic_path, discard
from metacross.text.conll import DOCUMENT_START
from metacross.text.formats import WritableFormat, written_format
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
    for span in sentence.spans or ():
        if "\n" in span.label or "\t" in span.label or span.label != span.label.strip():
            raise DataError(
                f"{sentence.place}: the label {span.label[:40]!r} cannot be written as CoNLL; "
                "rename it with --map"
            )
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
    sentences: Iterable[Sentence],
    path: str | Path,
    *,
    scheme: Scheme = Scheme.IOB2,
    format: str | None = None,  # noqa: A002 - the word of the command line
) -> None:
    """Write sentences to a file that ``read_corpus`` reads back equal.

    The file appears completely or not at all.

    Args:
        sentences: A corpus or other sentences.
        path: The file.
        scheme: Tag scheme of a CoNLL file. ``IO`` merges adjacent entities with the same label.
        format: ``"conll"``, ``"jsonl"``, ``"label-studio"``, ``"doccano"``, ``"prodigy"``,
            ``"brat"`` (two files: ``es.txt`` and ``es.ann`` for ``es``, ``es.ann`` or ``es.txt``),
            ``"conllu"`` or ``"argilla"``. None: by suffix; ``.jsonl``, ``.ndjson`` and ``.json``
            mean JSON lines, ``.conllu`` CoNLL-U, ``.ann`` brat, all others CoNLL columns.

    Raises:
        DataError: The file cannot be written, a word cannot be written as CoNLL, or some sentences
            of a CoNLL file have labels and others have none.

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
    write_items(sentences, path, _checked_format(format, path), scheme=scheme)


def _checked_format(name: str | None, path: Path) -> WritableFormat:
    try:
        return written_format(path) if name is None else WritableFormat(name)
    except ValueError:
        names = ", ".join(map(str, WritableFormat))
        raise SettingsError(f"format: expected one of {names}, found {name!r}") from None


def write_items(
    items: Iterable[Item], path: Path, format_: WritableFormat, *, scheme: Scheme = Scheme.IOB2
) -> None:
    """Write sentences, or proposals for them, to a file, or to the files of brat."""
    if format_ is not WritableFormat.BRAT:
        write_atomically(path, item_pieces(items, format_, scheme=scheme))
        return
    files = brat_files(items)
    _check_text_beside(path, files[TEXT])
    for suffix in (TEXT, ANNOTATIONS, WORDS):
        file = document_file(path, suffix)
        if suffix in files:
            _write_exactly(file, [files[suffix]])
        else:
            discard(file)


def _check_text_beside(path: Path, text: str) -> None:
    """Refuse to replace a text that is no document of brat yet, such as the one that was read."""
    text_file = document_file(path, TEXT)
    if document_file(path, ANNOTATIONS).exists() or not text_file.is_file():
        return
    if text_file.read_bytes() != text.encode("utf-8"):
        raise DataError(
            f"{path}: brat keeps its text in {text_file.name}, and there is another text in this "
            "file; choose another name"
        )


def item_pieces(
    items: Iterable[Item], format_: WritableFormat, *, scheme: Scheme = Scheme.IOB2
) -> Iterator[str]:
    """The parts of a file, as the items come; not for brat, which has several files."""
    if format_ is WritableFormat.CONLL:
        yield from _conll_pieces(map(sentence_of, items), scheme)
    elif format_ is WritableFormat.JSONL:
        yield from (json_line(sentence_of(item)) for item in items)
    else:
        yield from tool_pieces(items, format_)


def _conll_pieces(sentences: Iterable[Sentence], scheme: Scheme) -> Iterator[str]:
    """The lines of each sentence; a file has a column of tags everywhere or nowhere."""
    first: Sentence | None = None
    for sentence in sentences:
        first = first or sentence
        if sentence.labeled != first.labeled:
            unlabeled = first if sentence.labeled else sentence
            raise DataError(
                f"{unlabeled.place}: expected labels as in other sentences, found none; write JSON "
                "lines instead, to a file with the suffix .jsonl, or leave out sentences without "
                "labels: convert --lossy"
            )
        yield conll_lines(sentence, scheme)


def write_atomically(path: Path, pieces: Iterable[str]) -> None:
    """Write pieces of text to a UTF-8 file that appears completely or not at all."""
    _write_exactly(path, _after_mark(pieces))


def _after_mark(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, after a byte-order mark if they begin with one: a reader drops the first."""
    for number, piece in enumerate(pieces):
        if number == 0 and piece.startswith("\ufeff"):
            yield "\ufeff"
        yield piece


def _write_exactly(path: Path, pieces: Iterable[str]) -> None:
    """Write a file whose readers drop no byte-order mark: brat counts it as a character."""
    try:
        with (
            atomic_path(path) as temporary,
            temporary.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(pieces)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
