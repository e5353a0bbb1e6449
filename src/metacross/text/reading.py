"""Detects the format of a corpus and reads it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from metacross.errors import DataError
from metacross.text.annotation_formats.brat import brat_documents, sentences_from_brat
from metacross.text.annotation_formats.conllu import is_conllu, sentences_from_conllu
from metacross.text.annotation_formats.json_records import (
    PlacedRecord,
    records_of_lines,
    records_of_list,
)
from metacross.text.annotation_formats.tool_records import ToolReader, detected_tool
from metacross.text.conll import DOCUMENT_START, Columns, sentences_from_columns
from metacross.text.formats import JSON_TOOLS, Format, format_of_suffix
from metacross.text.hub_datasets import PREFIX, sentences_from_dataset
from metacross.text.jsonl import sentence_from_record
from metacross.text.language_codes import checked_language
from metacross.text.lines import NumberedLine, PeekableStream, decoded, numbered_lines
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Corpus, Layout, Origin, Sentence
from metacross.text.sentence_splitting import split_sentences
from metacross.text.word_splitting import split_text


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a corpus, where this cannot be detected or is detected wrongly.

    Args:
        format: None means: detect it.
        encoding: Encoding of the file.
        columns: Columns of a CoNLL file.
        tag_names: Names of numbered tags in JSON lines, in order; None if tags are not numbers.
        annotator: Which annotator of a tool to read: an id, ``"first"``, ``"agreed"`` (texts on
            which all agree) or ``"model"`` (proposals instead of annotations). None: several
            annotators must agree.
        lossy: Leave out annotations that cannot be read, such as overlapping ones, and say so in
            the notes of the corpus; otherwise they are errors.

    >>> ReadOptions(format=Format.CONLL, encoding="latin-1").encoding
    'latin-1'
    """

    format: Format | None = None
    encoding: str = "utf-8"
    columns: Columns = field(default_factory=Columns)
    tag_names: tuple[str, ...] | None = None
    annotator: str | None = None
    lossy: bool = False


_CONLLU_ROW = re.compile(r"\d+[^\t ]*\t(?:[^\t]*\t){8}[^\t]*$")
_TAG_AT_END = re.compile(r"[ \t](?:O|[A-Z]-\S+)[ \t]*$")


def read_corpus(
    source: str | Path, *, language: str | None = None, options: ReadOptions | None = None
) -> Corpus:
    r"""Read a corpus from a file or a Hugging Face data set.

    The format is detected by the suffix of the file and its first lines: CoNLL columns, JSON lines,
    plain text, which is split into sentences line by line, or the format of an annotation tool
    (Label Studio, doccano, Prodigy, Argilla, brat, CoNLL-U with named entities), whose texts are
    split into sentences. ``corpus.notes`` lists every annotation that was left out.

    Args:
        source: A file, a folder saved by ``datasets``, a folder of brat, or
            ``hub:NAME[:CONFIG][@SPLIT]``.
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
    name, log = str(source), ReadingLog(lossy=options is not None and options.lossy)
    sentences = tuple(stream_corpus(source, log, language=language, options=options))
    return Corpus(sentences, source=name, notes=log.notes)


def stream_corpus(
    source: str | Path,
    log: ReadingLog,
    *,
    language: str | None = None,
    options: ReadOptions | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences that :func:`read_corpus` reads, of which the log is kept."""
    options, language = options or ReadOptions(), checked_language(language)
    n_sentences = 0
    for n_sentences, sentence in enumerate(  # noqa: B007 - whether there is any
        _read_sentences(source, log, language, options), start=1
    ):
        yield sentence
    if not n_sentences:
        raise DataError(f"{source}: expected sentences, found none{_why_none(log)}")


def _why_none(log: ReadingLog) -> str:
    """What was left out of a file that has no sentences then."""
    omissions = log.notes.omissions
    return f"; left out: {omissions[0]} ({len(omissions):,} in all)" if omissions else ""


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
    options = options or ReadOptions()
    log = log or ReadingLog(lossy=options.lossy)
    language = checked_language(language)
    format_ = options.format or format_of_suffix(source)
    if format_ is Format.BRAT:
        raise DataError(f"{source}: expected a file of brat, which is read with the text beside it")
    content = PeekableStream(stream)
    if format_ in (None, Format.JSONL, *JSON_TOOLS) and content.starts_json_list(
        sure=format_ is not None
    ):
        text = decoded(content.read_all(), source, options.encoding)
        records = records_of_list(text, source)
        tool, records = _tool(records, format_, sniffed_lines)
        yield from _from_records(records, tool, source, log, language, options)
        return
    lines = numbered_lines(content, source, options.encoding)
    format_, lines = detected_format(lines, format_, sniffed_lines, options.columns)
    if format_ is Format.CONLL:
        for sentence in sentences_from_columns(lines, source, options.columns, log):
            yield replace(sentence, language=language)
    elif format_ is Format.CONLLU:
        yield from sentences_from_conllu(lines, source, log, language=language)
    elif format_ is Format.JSONL or format_ in JSON_TOOLS:
        records = records_of_lines(lines, source)
        tool, records = _tool(records, format_, sniffed_lines)
        yield from _from_records(records, tool, source, log, language, options)
    else:
        yield from sentences_from_text(lines, source, language)


def _tool(
    records: Iterator[PlacedRecord], format_: Format | None, n_inspected: int
) -> tuple[Format | None, Iterator[PlacedRecord]]:
    """The tool that was named or is detected, and all records; None: our own JSON."""
    if format_ in JSON_TOOLS:
        return format_, records
    return detected_tool(records, n_inspected=n_inspected)


def _from_records(
    records: Iterator[PlacedRecord],
    tool: Format | None,
    source: str,
    log: ReadingLog,
    language: str | None,
    options: ReadOptions,
) -> Iterator[Sentence]:
    """The sentences of JSON objects: of a tool, or our own."""
    if tool is not None and options.tag_names is None:
        reader = ToolReader(source, language, options.annotator)
        yield from reader.sentences(records, tool, log)
        return
    for record in records:
        sentence = sentence_from_record(
            record.content,
            Origin(source, record.line),
            log,
            language=language,
            tag_names=options.tag_names,
        )
        if sentence is not None:
            yield sentence


def _read_sentences(
    source: str | Path, log: ReadingLog, language: str | None, options: ReadOptions
) -> Iterator[Sentence]:
    name, path = str(source), Path(source)
    if name.startswith(PREFIX) or options.format is Format.HUB:
        yield from sentences_from_dataset(name, log, language=language)
    elif path.is_dir():
        yield from _sentences_of_folder(path, log, language, options)
    elif (options.format or format_of_suffix(path)) is Format.BRAT:
        yield from sentences_from_brat(path, log, language=language, encoding=options.encoding)
    else:
        try:
            with path.open("rb") as stream:
                yield from read_stream(stream, name, language=language, options=options, log=log)
        except OSError as error:
            raise DataError(f"{name}: cannot be read: {error.strerror}") from error


def _sentences_of_folder(
    folder: Path, log: ReadingLog, language: str | None, options: ReadOptions
) -> Iterator[Sentence]:
    """The sentences of a folder of ``datasets``, or of all documents in a folder of brat."""
    if any((folder / file).exists() for file in ("dataset_dict.json", "state.json")):
        yield from sentences_from_dataset(str(folder), log, language=language)
        return
    documents = brat_documents(folder)
    if not documents:
        raise DataError(
            f"{folder}: expected a file, a saved data set or .ann files of brat, found a folder"
        )
    for document in documents:
        log.documents += 1
        yield from sentences_from_brat(document, log, language=language, encoding=options.encoding)


def detected_format(
    lines: Iterator[NumberedLine], format_: Format | None, sniffed_lines: int, columns: Columns
) -> tuple[Format, Iterator[NumberedLine]]:
    """The format, and all lines, including those that were inspected."""
    if format_ is not None and format_ is not Format.CONLLU:
        return format_, lines
    first_lines = list(itertools.islice(lines, sniffed_lines))
    content = [line for _, line in first_lines]
    found = format_ or sniffed_format(content)
    if found in (Format.CONLL, Format.CONLLU):
        words = [line for line in content if line.strip() and not line.startswith("#")]
        chosen = columns.word is not None or columns.tag is not None
        ten_columns = bool(words) and is_conllu(words[0]) and not chosen
        found = Format.CONLLU if ten_columns else Format.CONLL
    return found, itertools.chain(first_lines, lines)


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
    tagged = sum(
        _TAG_AT_END.search(line) is not None
        or line[:2] == "1\t"
        or _CONLLU_ROW.match(line) is not None
        for line in words
    )
    return Format.CONLL if 2 * tagged > len(words) else Format.TEXT


def sentences_from_text(
    lines: Iterable[NumberedLine], source: str, language: str | None
) -> Iterator[Sentence]:
    """The sentences of lines of text."""
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
