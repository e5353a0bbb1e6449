"""The sentences that a model remembers, and the file of a model folder that keeps them.

The file is replaced as a whole by a rename, so it is complete at every moment, also if a process is
killed while it writes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from metacross.errors import DataError, ModelError
from metacross.model.array_file import MappedArray, rows_digest
from metacross.text.atomic_files import atomic_path, discard
from metacross.text.jsonl import sentence_from_record
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin, Sentence
from metacross.text.writing import json_record

REMEMBERED = "remembered.jsonl"
_FORMAT = 1
_ID_DIGITS = 12
_LOCK_SECONDS = 60
_VECTOR_TYPE = "<f4"  # float32, little-endian


@dataclass(frozen=True, slots=True)
class Remembered:
    """A labeled sentence that a model learns from beside its source sentences.

    ``time`` is when it was remembered (UTC), ``source`` where it came from, such as a file and a
    line; None if that is unknown.
    """

    sentence: Sentence
    vector: NDArray[np.float32] = field(compare=False, repr=False)
    time: str
    source: str | None = None

    @property
    def id(self) -> str:
        """Names the sentence by its words: the same words are remembered once."""
        return sentence_id(self.sentence)


def sentence_id(sentence: Sentence) -> str:
    """The id of a sentence in the memory of a model.

    >>> sentence_id(Sentence(("Ana", "duerme")))
    '78d12c9df9f4'
    """
    words = "\x1f".join(sentence.words).encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest()[:_ID_DIGITS]


def vectors_digest(source_vectors: NDArray[np.float32] | MappedArray) -> str:
    """Tells whether remembered vectors belong to a model: they were made by the same encoder."""
    if isinstance(source_vectors, MappedArray):
        return source_vectors.digest[:16]
    return rows_digest(source_vectors)[:16]


def joined(before: Iterable[Remembered], new: Iterable[Remembered]) -> tuple[Remembered, ...]:
    """Both, in order; a sentence that is remembered again takes its new place and labels."""
    by_id = {remembered.id: remembered for remembered in before}
    for remembered in new:
        by_id.pop(remembered.id, None)
        by_id[remembered.id] = remembered
    return tuple(by_id.values())


def read_remembered(folder: Path, digest: str | None = None) -> tuple[Remembered, ...]:
    """What the model in a folder remembers. ``digest`` is that of its source vectors, None: it is
    not checked that the sentences belong to this model.
    """
    path = folder / REMEMBERED
    try:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as problem:
        raise ModelError(f"{path}: cannot be read: {problem}") from problem
    try:
        header = json.loads(lines[0])
        if header["format"] != _FORMAT:
            raise ModelError(
                f"{path}: expected format {_FORMAT}, found {header['format']!r}; a newer metacross "
                "wrote it"
            )
        if digest is not None and header["source_vectors"] != digest:
            raise ModelError(
                f"{path}: another model remembered these sentences; delete the file, or move it "
                "and remember its sentences again"
            )
        numbered = enumerate(lines[1:], start=2)
        return tuple(_from_json(json.loads(line), Origin(str(path), n)) for n, line in numbered)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, DataError) as problem:
        raise ModelError(
            f"{path}: cannot be parsed: {problem}; delete the file to forget all sentences"
        ) from problem


def write_remembered(folder: Path, remembered: Sequence[Remembered], digest: str) -> None:
    """Replace what the model in a folder remembers; without sentences there is no file."""
    path = folder / REMEMBERED
    try:
        if not remembered:
            path.unlink(missing_ok=True)
            return
        header = {"format": _FORMAT, "source_vectors": digest}
        with (
            atomic_path(path) as temporary,
            temporary.open("w", encoding="utf-8", newline="\n") as file,
        ):
            for record in (header, *map(_to_json, remembered)):
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(folder)
    except OSError as problem:
        raise ModelError(f"{path}: cannot be written: {problem.strerror}") from problem


def update_remembered(
    folder: Path,
    change: Callable[[tuple[Remembered, ...]], Sequence[Remembered]],
    *,
    digest: str | None = None,
) -> tuple[Remembered, ...]:
    """Change what the model in a folder remembers; gives what it remembers then.

    Processes that do this at the same time wait for each other. ``digest`` None: that of the file.
    """
    with _locked(folder):
        for leftover in folder.glob(f".{REMEMBERED}.*.part"):  # of processes that were killed
            discard(leftover)
        before = read_remembered(folder, digest)
        if digest is None:
            if not before:
                return ()
            digest = _digest_of_file(folder)
        after = tuple(change(before))
        if after != before:
            write_remembered(folder, after, digest)
        return after


def _digest_of_file(folder: Path) -> str:
    with (folder / REMEMBERED).open(encoding="utf-8") as file:
        return str(json.loads(file.readline())["source_vectors"])


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / f".{REMEMBERED}.lock", timeout=_LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise ModelError(
            f"{folder}: another process has been changing the memory of this model for "
            f"{_LOCK_SECONDS} seconds; wait for it"
        ) from None
    except OSError as problem:
        raise ModelError(f"{folder}: cannot be written: {problem.strerror}") from problem
    except NotImplementedError:  # a file system without locks
        pass
    try:
        yield
    finally:
        lock.release()


def _sync_folder(folder: Path) -> None:
    """Let the rename survive a power failure, where folders can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _to_json(remembered: Remembered) -> dict[str, Any]:
    vector = np.ascontiguousarray(remembered.vector, dtype=_VECTOR_TYPE).tobytes()
    return {
        "id": remembered.id,
        "time": remembered.time,
        "source": remembered.source,
        **json_record(remembered.sentence),
        "vector": base64.b64encode(vector).decode("ascii"),
    }


def _from_json(record: dict[str, Any], origin: Origin) -> Remembered:
    sentence = sentence_from_record(record, origin, ReadingLog())
    if sentence is None or sentence.spans is None:
        raise ValueError(f"line {origin.line}: expected a labeled sentence")
    vector = np.frombuffer(base64.b64decode(record["vector"], validate=True), _VECTOR_TYPE)
    return Remembered(sentence, vector.astype(np.float32), str(record["time"]), record["source"])
