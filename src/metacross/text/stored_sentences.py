"""Sentences in a file of JSON lines, decoded when they are needed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.text.annotation_formats.json_records import parsed_object
from metacross.text.atomic_files import discard
from metacross.text.jsonl import sentence_from_record
from metacross.text.mapped_file import MappedFile
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import (
    CountedSentences,
    Origin,
    Sentence,
    SentenceCounter,
    SentenceCounts,
)
from metacross.text.writing import json_line

_BLOCK = 2**20  # bytes that are searched for line ends at once
_RECENT = 1_024  # decoded sentences that are kept


class StoredSentences(CountedSentences):
    """The sentences of a file that :func:`metacross.write_corpus` wrote as JSON lines.

    In memory are 8 bytes for each sentence, and the sentences that were used last. A line that is
    no sentence is an error when it is read.
    """

    def __init__(self, path: str | Path, counts: SentenceCounts | None = None) -> None:
        self.path = Path(path)
        self._file = MappedFile(self.path)
        self._starts = _line_starts(self._file)  # (sentences + 1,)
        self._known_counts = counts
        self._log = ReadingLog()
        self._recent = lru_cache(_RECENT)(self._decoded)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, position: int) -> Sentence: ...

    @overload
    def __getitem__(self, position: slice) -> tuple[Sentence, ...]: ...

    def __getitem__(self, position: int | slice) -> Sentence | tuple[Sentence, ...]:
        if isinstance(position, slice):
            return tuple(map(self._decoded, range(*position.indices(len(self)))))
        if not -len(self) <= position < len(self):
            raise IndexError(f"position {position} of {len(self):,} sentences")
        return self._recent(int(position) % len(self))

    def __iter__(self) -> Iterator[Sentence]:
        return map(self._decoded, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | StoredSentences):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[StoredSentences], tuple[Path, SentenceCounts | None]]:
        return StoredSentences, (self.path, self._known_counts)

    @cached_property
    def counts(self) -> SentenceCounts:
        """Counted when the file was written, or else in a pass over it."""
        if self._known_counts is not None:
            return self._known_counts
        counter = SentenceCounter()
        for sentence in self:
            counter.add(sentence)
        return counter.counts

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        digest = hashlib.sha256()
        for block in self._blocks():
            digest.update(block)
        return digest.hexdigest()

    def copy_to(self, path: Path) -> None:
        """Write the file anew; its own may be deleted by now."""
        with path.open("wb") as file:
            file.writelines(self._blocks())

    def _blocks(self) -> Iterator[bytes]:
        for start in range(0, self._file.size, _BLOCK):
            yield self._file.read(start, min(start + _BLOCK, self._file.size))

    def _decoded(self, position: int) -> Sentence:
        start, end = int(self._starts[position]), int(self._starts[position + 1])
        origin = Origin(str(self.path), position + 1)
        try:
            line = self._file.read(start, end).decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{origin}: expected utf-8, found other bytes") from None
        sentence = sentence_from_record(parsed_object(line, str(origin)), origin, self._log)
        if sentence is None:
            raise DataError(f"{origin}: expected at least one word, found none")
        return sentence


def stored(sentences: Iterable[Sentence], folder: Path) -> StoredSentences:
    """Write sentences, which are read one by one, to a file in a folder, and open it. The file is
    named by its content.
    """
    counter, digest = SentenceCounter(), hashlib.sha256()
    temporary = folder / f".sentences.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            for sentence in sentences:
                line = json_line(sentence).encode("utf-8")
                file.write(line)
                digest.update(line)
                counter.add(sentence)
        path = folder / f"{digest.hexdigest()}.jsonl"
        temporary.replace(path)
    except OSError as problem:
        raise DataError(
            f"{folder}: cannot be written: {problem.strerror}; METACROSS_CACHE names another folder"
        ) from problem
    finally:
        discard(temporary)
    return StoredSentences(path, counter.counts)


def count_lines(path: Path) -> int:
    """The number of lines of a file."""
    return len(_line_starts(MappedFile(path))) - 1


def _line_starts(file: MappedFile) -> NDArray[np.int64]:
    """Where each line starts, and where the last one ends. *Shape:* (lines + 1,)."""
    ends = []
    for start in range(0, file.size, _BLOCK):
        block = np.frombuffer(file.read(start, min(start + _BLOCK, file.size)), dtype=np.uint8)
        ends.append(np.flatnonzero(block == ord("\n")) + (start + 1))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), *ends])
    return starts if starts[-1] == file.size else np.append(starts, file.size)
