"""Reads rows of Parquet files (extra ``parquet``), a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from metacross.errors import DataError, SettingsError
from metacross.text.jsonl import TOKEN_KEYS

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_COLUMNS = (*TOKEN_KEYS, "text", "offsets", "language")
_ROWS = 512  # decoded at once


def pyarrow(what: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """The library, or an error that says how to install it; ``what`` needs it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise SettingsError(
            f"{what}: pyarrow is not installed: pip install 'metacross[parquet]'"
        ) from None
    return pyarrow


def parquet_rows(
    path: str, name: str, *, column: str | None = None, start: int = 0, end: int | None = None
) -> Iterator[dict[str, Any]]:
    """The rows ``start`` to ``end`` as JSON objects, with the columns that a sentence is made of.

    ``column`` holds texts or lists of words; None: ``tokens``, ``words`` or ``text``. ``name`` is
    the file in messages. ``end`` None: to the last row.
    """
    arrow = pyarrow(name)
    try:
        with arrow.parquet.ParquetFile(path) as file:
            columns = _columns(file, name, column)
            first = 0
            for group in range(file.num_row_groups):
                n_rows = file.metadata.row_group(group).num_rows
                if first + n_rows > start and (end is None or first < end):
                    yield from _rows_of_group(file, group, columns, start - first, end, first)
                first += n_rows
    except arrow.ArrowException as error:
        raise DataError(f"{name}: cannot be read as Parquet: {_first_line(error)}") from error
    except OSError as error:
        reason = error.strerror or _first_line(error)
        raise DataError(f"{name}: cannot be read as Parquet: {reason}") from error


def _rows_of_group(
    file: ParquetFile, group: int, columns: list[str], skipped: int, end: int | None, first: int
) -> Iterator[dict[str, Any]]:
    """The rows of a row group, without the first ``skipped``; ``first`` is its first row."""
    position = 0
    for batch in file.iter_batches(_ROWS, row_groups=[group], columns=columns, use_threads=False):
        n_rows = batch.num_rows
        start = max(0, skipped - position)
        stop = n_rows if end is None else min(n_rows, end - first - position)
        if start < stop:
            yield from batch.slice(start, stop - start).to_pylist()
        position += n_rows
        if end is not None and first + position >= end:
            return


def _columns(file: ParquetFile, name: str, column: str | None) -> list[str]:
    present = list(file.schema_arrow.names)
    if column is not None:
        if column not in present:
            raise DataError(f"{name}: expected a column {column!r}, found {', '.join(present)}")
        return [column, *(c for c in ("language",) if c in present and c != column)]
    columns = [known for known in _COLUMNS if known in present]
    if not any(known in columns for known in (*TOKEN_KEYS, "text")):
        raise DataError(
            f"{name}: expected a column 'tokens' or 'text', found {', '.join(present)}; name the "
            "column of the text: --column NAME"
        )
    return columns


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
