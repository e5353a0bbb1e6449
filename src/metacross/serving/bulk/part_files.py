"""Writes the records of a part as JSON lines or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from metacross.text.formats import BulkOutput
from metacross.text.parquet import pyarrow

if TYPE_CHECKING:
    from pyarrow import Schema

Record: TypeAlias = dict[str, Any]

_ROWS = 1_000  # of a row group


def write_records(records: Iterable[Record], path: Path, to: BulkOutput) -> int:
    """Write the records and return their number."""
    return (_write_jsonl if to is BulkOutput.JSONL else _write_parquet)(records, path)


def _write_jsonl(records: Iterable[Record], path: Path) -> int:
    n_records = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            n_records += 1
    return n_records


def _write_parquet(records: Iterable[Record], path: Path) -> int:
    arrow = pyarrow("--to parquet")
    schema = parquet_schema()
    n_records = 0
    with arrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows in _batches(iter(records)):
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            n_records += len(rows)
    return n_records


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    while rows := list(islice(records, _ROWS)):
        yield rows


def parquet_schema() -> Schema:
    """The columns of a record; what a record lacks is null."""
    arrow = pyarrow("--to parquet")
    text, number, real = arrow.string(), arrow.int64(), arrow.float64()
    span = [
        ("label", text),
        ("start", number),
        ("end", number),
        ("start_char", number),
        ("end_char", number),
        ("text", text),
    ]

    def sentence(spans: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return [
            ("tokens", arrow.list_(text)),
            ("tags", arrow.list_(text)),
            ("text", text),
            ("offsets", arrow.list_(arrow.list_(number))),
            ("spans", arrow.list_(arrow.struct(spans))),
            ("language", text),
        ]

    neighbor = [("position", number), ("similarity", real), ("remembered", text), *sentence(span)]
    return arrow.schema(
        [
            ("source", text),
            *sentence([*span, ("score", real)]),
            ("line", number),
            ("start", number),
            ("neighbors", arrow.list_(arrow.struct(neighbor))),
        ]
    )
