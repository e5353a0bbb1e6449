"""Detects the format of a corpus and reads it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from metacross.errors import DataError
from metacross.text.conll import DOCUMENT_START, Columns, sentences_from_columns
from metacross.text.hub_datasets import PREFIX, sentences_from_dataset
from metacross.text.jsonl import sentences_from_json
from metacross.text.language_codes import checked_language
from metacross.text.lines import NumberedLine, numbered_lines
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Corpus, Layout, Origin, Sentence
from metacross.text.sentence_splitting import split_sentences
from metacross.text.word_splitting import split_text


class Format(str, Enum):
    """The format of a corpus."""

    CONLL = "conll"
    JSONL = "jsonl"
    TEXT = "text"
    HUB = "hub"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a corpus, where this cannot be detected or is detected wrongly.

    Args:
        format: None means: detect it.
        encoding: Encoding of the file.
        columns: Columns of a CoNLL file.
        tag_names: Names of numbered tags in JSON lines, in order; None if tags are not numbers.

    >>> ReadOptions(format=Format.CONLL, encoding="latin-1").encoding
    'latin-1'
    """

    format: Format | None = None
    encoding: str = "utf-8"
    columns: Columns = field(default_factory=Columns)
    tag_names: tuple[str, ...] | None = None


_SUFFIXES = {
    ".conll": Format.CONLL,
    ".conllu": Format.CONLL,
    ".iob": Format.CONLL,
    ".iob2": Format.CONLL,
    ".bio": Format.CONLL,
    ".bioes": Format.CONLL,
    ".tsv": Format.CONLL,
    ".jsonl": Format.JSONL,
    ".json": Format.JSONL,
    ".ndjson": Format.JSONL,
}
_TAG_AT_END = re.compile(r"[ \t](?:O|[A-Z]-\S+)[ \t]*$")


def read_corpus(
    source: str | Path, *, language: str | None = None, options: ReadOptions | None = None
) -> Corpus:
    r"""Read a corpus from a file or a Hugging Face data set.

    The format is detected by the suffix of the file, otherwise by its first lines: CoNLL columns,
    JSON lines, or plain text, which is split into sentences line by line.

    Args:
        source: A file, a folder saved by ``datasets``, or ``hub:NAME[:CONFIG][@SPLIT]``.
        language: Language code of the sentences, such as ``"es"``, ``"swa"`` or ``"zh-Hans"``. It
            also decides how plain text is split into sentences and words.
        options: Format, encoding and columns, where they cannot be detected.

    Raises:
        DataError: The source cannot be read, is malformed or has no sentences.
        SettingsError: The language code does not exist.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "es.conll"
    >>> _ = path.write_text("Ana B-PER\nRuiz I-PER\nhabla O\n")
    >>> corpus = read_corpus(path, language="es")
    >>> corpus[0].words, corpus[0].spans
    (('Ana', 'Ruiz', 'habla'), (Span(start=0, end=2, label='PER'),))
    """
    options, language = options or ReadOptions(), checked_language(language)
    name, log = str(source), ReadingLog()
    sentences = tuple(_read_sentences(source, log, language, options))
    if not sentences:
        raise DataError(f"{name}: expected sentences, found none")
    return Corpus(sentences, source=name, notes=log.notes)


def read_stream(
    stream: BinaryIO,
    source: str,
    *,
    language: str | None = None,
    options: ReadOptions | None = None,
    log: ReadingLog | None = None,
    sniffed_lines: int = 200,
) -> Iterator[Sentence]:
    """Yield sentences as their lines arrive; ``source`` names the stream in messages.

    If the format has to be detected, the first sentence waits for ``sniffed_lines`` lines.
    """
    options, log = options or ReadOptions(), log or ReadingLog()
    language = checked_language(language)
    lines = numbered_lines(stream, source, options.encoding)
    format_, lines = _detected_format(lines, source, options, sniffed_lines)
    if format_ is Format.CONLL:
        for sentence in sentences_from_columns(lines, source, options.columns, log):
            yield replace(sentence, language=language)
    elif format_ is Format.JSONL:
        yield from sentences_from_json(
            lines, source, log, language=language, tag_names=options.tag_names
        )
    else:
        yield from _sentences_from_text(lines, source, language)


def _read_sentences(
    source: str | Path, log: ReadingLog, language: str | None, options: ReadOptions
) -> Iterator[Sentence]:
    name = str(source)
    path = Path(source)
    if name.startswith(PREFIX) or options.format is Format.HUB:
        yield from sentences_from_dataset(name, log, language=language)
    elif path.is_dir():
        if not any((path / file).exists() for file in ("dataset_dict.json", "state.json")):
            raise DataError(f"{name}: expected a file or a saved data set, found a folder")
        yield from sentences_from_dataset(name, log, language=language)
    else:
        try:
            with path.open("rb") as stream:
                yield from read_stream(stream, name, language=language, options=options, log=log)
        except OSError as error:
            raise DataError(f"{name}: cannot be read: {error.strerror}") from error


def _detected_format(
    lines: Iterator[NumberedLine], source: str, options: ReadOptions, sniffed_lines: int
) -> tuple[Format, Iterator[NumberedLine]]:
    """The format, and all lines, including those that were inspected."""
    format_ = options.format or _SUFFIXES.get(Path(source).suffix.lower())
    if format_ is not None:
        return format_, lines
    first_lines = list(itertools.islice(lines, sniffed_lines))
    sniffed = sniffed_format([line for _, line in first_lines])
    return sniffed, itertools.chain(first_lines, lines)


def sniffed_format(lines: list[str]) -> Format:
    """Detect the format of some lines. Most lines of a CoNLL file end in a tag.

    >>> sniffed_format(["Ginebra B-LOC", ", O"]), sniffed_format(["Vitamin O is no vitamin ."])
    (<Format.CONLL: 'conll'>, <Format.TEXT: 'text'>)
    """
    content = [line for line in lines if line.strip()]
    if content and content[0].lstrip().startswith(("{", "[{", '["')):
        return Format.JSONL
    if any(line.startswith(DOCUMENT_START) for line in content):
        return Format.CONLL
    words = [line for line in content if not line.startswith("# ")]
    tagged = sum(_TAG_AT_END.search(line) is not None or line[:2] == "1\t" for line in words)
    return Format.CONLL if 2 * tagged > len(words) else Format.TEXT


def _sentences_from_text(
    lines: Iterable[NumberedLine], source: str, language: str | None
) -> Iterator[Sentence]:
    for number, line in lines:
        for start, layout in sentence_layouts(line, language):
            yield unlabeled(layout, language, Origin(source, number, start))


def sentence_layouts(text: str, language: str | None) -> Iterator[tuple[int, Layout]]:
    """The sentences of a text that have words: where each starts in the text, and its words.

    >>> [(start, layout.text) for start, layout in sentence_layouts("Ana slept. Tom ran.", "en")]
    [(0, 'Ana slept. '), (11, 'Tom ran.')]
    """
    for start, end in split_sentences(text, language):
        layout = split_text(text[start:end], language)
        if layout.offsets:
            yield start, layout


def unlabeled(layout: Layout, language: str | None, origin: Origin | None = None) -> Sentence:
    """A sentence without annotation, made of the words of a layout."""
    words = tuple(layout.text[start:end] for start, end in layout.offsets)
    return Sentence(words, None, language, origin, layout)
