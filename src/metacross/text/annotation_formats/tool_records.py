"""Reads the JSON of any annotation tool, and finds out which tool it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from metacross.text.annotation_formats import argilla, doccano, label_studio, prodigy
from metacross.text.annotation_formats.annotated_text import AnnotatedText, sentences_of_text
from metacross.text.annotation_formats.json_records import PlacedRecord
from metacross.text.formats import Format
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Sentence


@dataclass(frozen=True, slots=True)
class ToolReader:
    """How the records of a tool are read; ``annotator`` chooses among several annotators."""

    source: str
    language: str | None = None
    annotator: str | None = None

    def sentences(
        self, records: Iterator[PlacedRecord], format_: Format, log: ReadingLog
    ) -> Iterator[Sentence]:
        """The sentences of all records."""
        for annotated in self._texts(records, format_, log):
            if annotated is not None:
                yield from sentences_of_text(annotated, log)

    def _texts(
        self, records: Iterator[PlacedRecord], format_: Format, log: ReadingLog
    ) -> Iterator[AnnotatedText | None]:
        if format_ is Format.PRODIGY:
            return prodigy.annotated_texts(
                records, self.source, log, language=self.language, annotator=self.annotator
            )
        if format_ is Format.DOCCANO and self.annotator is not None:
            log.remark("doccano does not say who annotated a text: --annotator was not used")
        return (self._annotated(record, format_, log) for record in records)

    def _annotated(
        self, record: PlacedRecord, format_: Format, log: ReadingLog
    ) -> AnnotatedText | None:
        source, language = self.source, self.language
        if format_ is Format.LABEL_STUDIO:
            return label_studio.annotated_task(
                record, source, log, language=language, annotator=self.annotator
            )
        if format_ is Format.ARGILLA:
            return argilla.annotated_record(
                record, source, log, language=language, annotator=self.annotator
            )
        return doccano.annotated_example(record, source, log, language=language)


def detected_tool(
    records: Iterator[PlacedRecord], *, n_inspected: int
) -> tuple[Format | None, Iterator[PlacedRecord]]:
    """The tool that records are of, and all of them, including those that were inspected.

    The first one decides whose content is that of one tool, or of our own JSON lines, only.
    """
    tool: Format | None = None
    inspected: list[PlacedRecord] = []
    for record in islice(records, n_inspected):
        inspected.append(record)
        tool = tool_of(record.content)
        if tool is not None or not doccano.has_empty_entities(record.content):
            break
    return tool, chain(inspected, records)


def tool_of(record: Mapping[str, Any]) -> Format | None:
    """The tool that a record is of; None if it is none of them.

    >>> str(tool_of({"text": "Ana", "label": [[0, 3, "PER"]]}))
    'doccano'
    """
    if label_studio.is_task(record):
        return Format.LABEL_STUDIO
    if argilla.is_record(record):
        return Format.ARGILLA
    if prodigy.is_example(record):
        return Format.PRODIGY
    if doccano.is_example(record):
        return Format.DOCCANO
    return None
