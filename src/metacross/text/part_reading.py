"""Reads the sentences of a part of a file, after checking that the file is as it was planned."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacross.errors import DataError
from metacross.text.annotation_formats.conllu import sentences_from_conllu
from metacross.text.annotation_formats.json_records import records_of_lines
from metacross.text.conll import sentences_in_dialect
from metacross.text.formats import BulkFormat
from metacross.text.input_parts import Input, InputOptions, InputPart, Range, row_bytes
from metacross.text.lines import NumberedLine, numbered_lines
from metacross.text.parquet import parquet_rows
from metacross.text.reading import sentences_from_text
from metacross.text.reading_log import ReadingLog
from metacross.text.record_sentences import sentences_of_record
from metacross.text.sentence import Origin, Sentence


def read_part(part: InputPart) -> Iterator[Sentence]:
    """The sentences of a part.

    Raises:
        DataError: A file has changed since the parts were planned, or is malformed.
    """
    for range_ in part.ranges:
        yield from _read_range(range_)


def _read_range(range_: Range) -> Iterator[Sentence]:
    source = range_.input
    name, options = source.name, source.options
    if source.format is BulkFormat.PARQUET:
        found = parquet_rows(
            source.path, name, column=options.column, start=range_.start, end=range_.end
        )
        rows = list(found)
        _check_unchanged(range_, b"".join(map(row_bytes, rows)))
        for number, row in enumerate(rows, start=range_.line):
            yield from _of_record(row, Origin(name, number), options)
        return
    content = _content(range_)
    _check_unchanged(range_, content)
    lines = numbered_lines(io.BytesIO(content), name, options.encoding, first=range_.line)
    if source.format is BulkFormat.TEXT:
        yield from sentences_from_text(lines, name, options.language)
    elif source.format is BulkFormat.JSONL:
        for record in records_of_lines(lines, name):
            yield from _of_record(record.content, Origin(name, record.line), options)
    else:
        yield from _of_columns(lines, source)


def _of_record(record: dict[str, Any], origin: Origin, options: InputOptions) -> Iterator[Sentence]:
    return sentences_of_record(record, origin, column=options.column, language=options.language)


def _of_columns(lines: Iterable[NumberedLine], source: Input) -> Iterator[Sentence]:
    language = source.options.language
    if source.dialect is None:
        yield from sentences_from_conllu(lines, source.name, ReadingLog(), language=language)
        return
    for sentence in sentences_in_dialect(lines, source.name, source.dialect, ReadingLog()):
        yield replace(sentence, language=language)


def _content(range_: Range) -> bytes:
    try:
        with Path(range_.input.path).open("rb") as file:
            file.seek(range_.start)
            return file.read(range_.end - range_.start)
    except OSError as error:
        raise DataError(f"{range_.input.name}: cannot be read: {error.strerror}") from error


def _check_unchanged(range_: Range, content: bytes) -> None:
    if hashlib.sha256(content).hexdigest() != range_.sha256:
        raise DataError(
            f"{range_}: expected the lines that were there when annotation began, found others; "
            "restore the file, or use another output folder"
        )
