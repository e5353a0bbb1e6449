"""Divides files of any size into parts that are read one by one."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from metacross.errors import DataError, SettingsError
from metacross.text.conll import Columns, Dialect, detected_dialect, is_blank
from metacross.text.formats import BulkFormat, Format, format_of_suffix
from metacross.text.language_codes import checked_language
from metacross.text.lines import MAX_LINE_BYTES, checked_encoding, numbered_lines
from metacross.text.parquet import parquet_rows
from metacross.text.reading import detected_format
from metacross.text.resource_files import file_digest

_MAX_PART_BYTES = 4_000_000  # a part of long lines has fewer of them
_HEAD_BYTES, _HEAD_LINES = 1_000_000, 200  # of a file whose format is detected
_REPORTED_BYTES = 10_000_000  # between two calls of ``progress``
_PARQUET_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How inputs are read.

    ``format`` None: detect it. ``column`` is the column of Parquet files, or the key of JSON lines,
    that holds the text or the words; None: ``tokens``, ``words`` or ``text``.
    """

    format: BulkFormat | None = None
    encoding: str = "utf-8"
    column: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read: ``name`` as the user wrote it, ``path`` absolute.

    ``dialect`` is that of a CoNLL file. ``lines`` counts the rows of a Parquet file.
    """

    name: str
    path: str
    format: BulkFormat
    options: InputOptions
    dialect: Dialect | None = None
    sha256: str = ""
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Range:
    """Some lines of an input. ``start`` and ``end`` are half-open: bytes, or rows of a Parquet
    file. ``line`` is the number of the first line, from 1.
    """

    input: Input
    start: int
    end: int
    line: int
    n_lines: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.input.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class InputPart:
    """Consecutive ranges that are read together. ``n_units`` counts lines of text, JSON objects,
    sentences of CoNLL or rows.
    """

    number: int
    ranges: tuple[Range, ...]
    n_units: int

    @property
    def place(self) -> str:
        """Where it is, for messages: ``part 3 (a.txt:6001 to a.txt:8000)``."""
        last = self.ranges[-1]
        end = f"{last.input.name}:{last.line + last.n_lines - 1}"
        return f"part {self.number} ({self.ranges[0]} to {end})"

    @property
    def digest(self) -> str:
        """A digest of what is read."""
        return hashlib.sha256(" ".join(r.sha256 for r in self.ranges).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class InputPlan:
    """The inputs, and the parts that they are divided into."""

    inputs: tuple[Input, ...]
    parts: tuple[InputPart, ...]

    @property
    def n_units(self) -> int:
        """Units of all parts."""
        return sum(part.n_units for part in self.parts)


def plan_parts(
    sources: Sequence[str],
    options: InputOptions,
    *,
    size: int,
    progress: Callable[[int], None] = lambda _n_bytes: None,
) -> InputPlan:
    """Divide files, and the files of folders, into parts of ``size`` units: lines of text, JSON
    objects, sentences of CoNLL, rows of Parquet.

    Files are read once from beginning to end, in constant memory; ``progress`` is called with the
    number of bytes read. Parts of long lines have fewer units.
    """
    checked_encoding(options.encoding)
    options = replace(options, language=checked_language(options.language))
    cutter = _PartCutter(size)
    inputs = []
    n_bytes = 0
    for name in input_files(sources):
        found = _detected(name, options)
        digest = hashlib.sha256()
        cutter.begin(found)
        for unit in _units(found):
            if found.format is not BulkFormat.PARQUET:
                digest.update(unit.content)
            cutter.add(unit)
            if (n_bytes + len(unit.content)) // _REPORTED_BYTES > n_bytes // _REPORTED_BYTES:
                progress(n_bytes)
            n_bytes += len(unit.content)
        n_lines = cutter.end_of_file()
        is_parquet = found.format is BulkFormat.PARQUET
        sha256 = file_digest(found.path) if is_parquet else digest.hexdigest()
        inputs.append(replace(found, sha256=sha256, lines=n_lines))
    return InputPlan(tuple(inputs), tuple(cutter.finished()))


def input_files(sources: Sequence[str]) -> list[str]:
    """The files, and those in the folders, in order; hidden files are left out."""
    files: list[str] = []
    for source in sources:
        path = Path(source)
        if source == "-":
            raise SettingsError("-: expected files or folders; to read a stream, use predict")
        if not path.is_dir():
            files.append(source)
            continue
        inside = sorted(p for p in path.rglob("*") if p.is_file() and not _hidden(p, path))
        if not inside:
            raise DataError(f"{source}: expected files in the folder, found none")
        files += map(str, inside)
    for file in files:
        if any("\ud800" <= letter <= "\udfff" for letter in file):
            raise DataError(f"{file!r}: expected a file name in UTF-8")
    return files


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _detected(name: str, options: InputOptions) -> Input:
    """The input with its format, found by its suffix or first lines."""
    path = Path(name)
    absolute = str(path.absolute())
    if options.format is BulkFormat.PARQUET or (
        options.format is None and path.suffix.lower() in _PARQUET_SUFFIXES
    ):
        return Input(name, absolute, BulkFormat.PARQUET, options)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from error
    if len(head) == _HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1]
    lines = list(islice(numbered_lines(io.BytesIO(head), name, options.encoding), _HEAD_LINES))
    expected = format_of_suffix(path) if options.format is None else Format(options.format.value)
    found, _ = detected_format(iter(lines), expected, _HEAD_LINES, Columns())
    if found.value not in BulkFormat._value2member_map_:
        raise DataError(
            f"{name}: expected text, JSON lines, CoNLL or Parquet, found {found}; convert it first"
        )
    if found is Format.JSONL and next((t for _, t in lines if t.strip()), "").startswith("["):
        raise DataError(
            f"{name}: expected one JSON object per line, found a list; convert it first"
        )
    dialect = detected_dialect(lines, name, Columns()) if found is Format.CONLL else None
    return Input(name, absolute, BulkFormat(found.value), options, dialect)


@dataclass(frozen=True, slots=True)
class _Unit:
    """What cannot be divided: ``content`` from ``start`` to ``end`` (bytes or rows)."""

    content: bytes
    start: int
    end: int
    n_lines: int


def _units(source: Input) -> Iterator[_Unit]:
    if source.format is BulkFormat.PARQUET:
        rows = parquet_rows(source.path, source.name, column=source.options.column)
        for number, row in enumerate(rows):
            yield _Unit(row_bytes(row), number, number + 1, 1)
        return
    try:
        yield from _units_of_lines(source)
    except OSError as error:
        raise DataError(f"{source.name}: cannot be read: {error.strerror}") from error


def _units_of_lines(source: Input) -> Iterator[_Unit]:
    in_columns = source.format in (BulkFormat.CONLL, BulkFormat.CONLLU)
    lines: list[bytes] = []
    start = end = number = 0
    with Path(source.path).open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            lines.append(line)
            end += len(line)
            if end - start > MAX_LINE_BYTES:
                what = "a line" if len(line) > MAX_LINE_BYTES else "a sentence"
                raise DataError(
                    f"{source.name}:{number}: expected text, found {what} of over "
                    f"{MAX_LINE_BYTES:,} bytes"
                )
            if not in_columns or is_blank(line.decode("latin-1").rstrip("\r\n")):
                yield _Unit(b"".join(lines), start, end, len(lines))
                lines, start = [], end
    if lines:
        yield _Unit(b"".join(lines), start, end, len(lines))


class _PartCutter:
    """Collects units into ranges, and ranges into parts; a part can have ranges of many files."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._parts: list[InputPart] = []
        self._ranges: list[Range] = []
        self._n_units = self._n_bytes = 0

    def begin(self, source: Input) -> None:
        """Go on with a file."""
        self._input = source
        self._line = self._first_line = 1
        self._start = self._end = 0
        self._digest = hashlib.sha256()

    def add(self, unit: _Unit) -> None:
        """Add the next unit of the file."""
        self._digest.update(unit.content)
        self._end = unit.end
        self._line += unit.n_lines
        self._n_units += 1
        self._n_bytes += len(unit.content)
        if self._n_units == self._size or self._n_bytes >= _MAX_PART_BYTES:
            self._end_range()
            self._end_part()

    def end_of_file(self) -> int:
        """The number of lines of the file."""
        self._end_range()
        return self._line - 1

    def finished(self) -> list[InputPart]:
        """All parts."""
        self._end_part()
        return self._parts

    def _end_range(self) -> None:
        if self._end == self._start:
            return
        n_lines = self._line - self._first_line
        sha256 = self._digest.hexdigest()
        self._ranges.append(
            Range(self._input, self._start, self._end, self._first_line, n_lines, sha256)
        )
        self._start, self._first_line = self._end, self._line
        self._digest = hashlib.sha256()

    def _end_part(self) -> None:
        if self._ranges:
            self._parts.append(InputPart(len(self._parts), tuple(self._ranges), self._n_units))
        self._ranges, self._n_units, self._n_bytes = [], 0, 0


def row_bytes(row: dict[str, Any]) -> bytes:
    """What a row is known by."""
    return json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass") + b"\n"
