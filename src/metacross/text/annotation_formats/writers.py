"""Writes sentences and proposals in the format of an annotation tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from metacross.text.annotation_formats import argilla, doccano, label_studio, prodigy
from metacross.text.annotation_formats.conllu import conllu_lines
from metacross.text.annotation_formats.proposal import Item
from metacross.text.formats import WritableFormat

_RECORDS: dict[WritableFormat, Callable[[Item], dict[str, Any]]] = {
    WritableFormat.LABEL_STUDIO: label_studio.task_record,
    WritableFormat.DOCCANO: doccano.example_record,
    WritableFormat.PRODIGY: prodigy.example_record,
    WritableFormat.ARGILLA: argilla.argilla_record,
}


def tool_pieces(items: Iterable[Item], format_: WritableFormat) -> Iterator[str]:
    """The parts of a file, one for each item as it comes; not for brat, which has two files."""
    if format_ is WritableFormat.CONLLU:
        yield from map(conllu_lines, items)
        return
    record = _RECORDS[format_]
    lines = (json.dumps(record(item), ensure_ascii=False) for item in items)
    if not format_.is_json_list:
        yield from (line + "\n" for line in lines)
        return
    separator = "["
    for line in lines:
        yield separator + line
        separator = ",\n"
    yield "]\n" if separator == ",\n" else "[]\n"
