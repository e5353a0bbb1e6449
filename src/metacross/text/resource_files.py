"""Opens resource files of baselines, plain or compressed with gzip, and checks their columns."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from metacross.errors import DataError
from metacross.text.lines import NumberedLine, numbered_lines

_BLOCK = 1_048_576  # bytes


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading; one whose name ends in ``.gz`` is decompressed."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            if path.suffix.lower() != ".gz":
                yield file
            else:
                with gzip.GzipFile(fileobj=file) as stream:
                    yield cast("BinaryIO", stream)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be decompressed as gzip: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def resource_lines(path: str | Path) -> Iterator[NumberedLine]:
    """The lines of a UTF-8 file that are not blank, with their numbers."""
    with opened(path) as stream:
        for number, line in numbered_lines(stream, str(path), "utf-8"):
            if line.strip():
                yield number, line


@dataclass(frozen=True, slots=True)
class TableRow:
    """The fields of a line, and where it is, for messages."""

    place: str
    fields: tuple[str, ...]


def table_rows(path: str | Path, columns: Sequence[str], *, n_required: int) -> Iterator[TableRow]:
    """The rows of a tab-separated file. ``columns`` names its columns for messages; the first
    ``n_required`` must not be empty, further ones than named are left out.
    """
    for number, line in resource_lines(path):
        fields = tuple(field.strip() for field in line.split("\t")[: len(columns)])
        if len(fields) < n_required or not all(fields[:n_required]):
            expected = ", TAB, ".join(columns[:n_required])
            raise DataError(f"{path}:{number}: expected {expected}, found {line[:80]!r}")
        yield TableRow(f"{path}:{number}", fields)


def parsed_weight(row: TableRow, position: int) -> float:
    """The positive number in a column; 1.0 if the row does not have the column."""
    if len(row.fields) <= position or not row.fields[position]:
        return 1.0
    text = row.fields[position]
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise DataError(f"{row.place}: expected a number above 0, found {text[:40]!r}")
    return weight


def file_digest(path: str | Path) -> str:
    """A digest of the content of a file, before any decompression."""
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    return digest.hexdigest()
