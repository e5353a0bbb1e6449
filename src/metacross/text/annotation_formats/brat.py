"""Reads and writes the standoff format of brat: a text, and a file of annotations beside it."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from metacross.errors import DataError
from metacross.text.annotation_formats.annotated_text import (
    AnnotatedText,
    CharacterEntity,
    StoredWords,
    entities_of,
    sentences_of_text,
)
from metacross.text.annotation_formats.offset_units import UNITS, TextOffsets
from metacross.text.annotation_formats.proposal import Item, sentence_of
from metacross.text.annotation_formats.stored_words import words_from_json
from metacross.text.lines import OTHER_ENCODING
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin, Sentence

ANNOTATIONS, TEXT, WORDS = ".ann", ".txt", ".words.jsonl"
_OTHER_KINDS = {
    "R": "relations",
    "E": "events",
    "A": "attributes",
    "M": "modifications",
    "N": "references",
    "*": "equivalences",
    "#": "notes",
}
_RANGES = re.compile(r"(\S+) ([0-9]{1,18} [0-9]{1,18}(?:;[0-9]{1,18} [0-9]{1,18})*)")


def brat_documents(folder: Path) -> list[Path]:
    """The annotation files of a folder and the folders in it, in order."""
    return sorted(folder.rglob(f"*{ANNOTATIONS}"))


def document_file(path: Path, suffix: str) -> Path:
    """A file of a document that is named by its text, its annotations, or without suffix.

    >>> [document_file(Path(name), ".txt").name for name in ("es.ann", "es", "es.dev")]
    ['es.txt', 'es.txt', 'es.dev.txt']
    """
    if path.suffix.lower() in (TEXT, ANNOTATIONS):
        return path.with_suffix(suffix)
    return path.with_name(path.name + suffix)


def sentences_from_brat(
    path: Path, log: ReadingLog, *, language: str | None, encoding: str
) -> list[Sentence]:
    """The sentences of a document, given by its text or its annotations. Without annotations the
    sentences are not annotated.
    """
    text_file, annotation_file = document_file(path, TEXT), document_file(path, ANNOTATIONS)
    text = _read(text_file, encoding)
    entities: tuple[CharacterEntity, ...] | None = None
    if annotation_file.exists():
        entities = tuple(_entities(_read(annotation_file, encoding), annotation_file, text, log))
    annotated = AnnotatedText(text, entities, Origin(str(text_file), 1), language)
    stored = _stored_sentences(document_file(path, WORDS), text, log)
    if stored is None:
        return _with_lines(sentences_of_text(annotated, log), text)
    sentences = [
        sentence
        for part, part_entities in zip(stored, _by_part(entities, stored), strict=True)
        for sentence in sentences_of_text(_part_of(annotated, part, part_entities), log)
    ]
    return _with_lines(sentences, text)


def _read(path: Path, encoding: str) -> str:
    try:
        content = path.read_bytes().decode(encoding)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: expected {encoding}, found another byte at {error.start}; {OTHER_ENCODING}"
        ) from None
    return content.removeprefix("\ufeff") if path.suffix == ANNOTATIONS else content


def _with_lines(sentences: Sequence[Sentence], text: str) -> list[Sentence]:
    """The sentences with the line in which each starts."""
    placed, line, counted = [], 1, 0
    for sentence in sentences:
        if sentence.origin is not None:
            line += text.count("\n", counted, sentence.origin.start)
            counted = max(counted, sentence.origin.start)
            sentence = replace(sentence, origin=replace(sentence.origin, line=line))
        placed.append(sentence)
    return placed


def _entities(content: str, path: Path, text: str, log: ReadingLog) -> Iterator[CharacterEntity]:
    offsets = TextOffsets(text)
    others: Counter[str] = Counter()
    for number, line in enumerate(content.split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        if line.startswith("T"):
            entity = _entity(line, f"{path}:{number}", text, offsets, log)
            if entity is not None:
                yield entity
        elif line[0] in _OTHER_KINDS:
            others[_OTHER_KINDS[line[0]]] += 1
        else:
            raise DataError(f"{path}:{number}: expected an annotation, found {line[:40]!r}")
    for kind, n in others.items():
        log.omit(str(path), f"{n:,} {kind} are not entities")


def _entity(
    line: str, place: str, text: str, offsets: TextOffsets, log: ReadingLog
) -> CharacterEntity | None:
    parts = line.split("\t")
    found = _RANGES.fullmatch(parts[1]) if len(parts) > 1 else None
    if not found:
        raise DataError(
            f"{place}: expected an entity as in 'T1<tab>LOC 12 18<tab>Bilbao', found {line[:60]!r}"
        )
    label = found[1]
    pieces = [tuple(map(int, piece.split(" "))) for piece in found[2].split(";")]
    surface = parts[2] if len(parts) > 2 else None
    if any(text[end:start].strip() for (_, end), (start, _) in pairwise(pieces)):
        log.lose(place, f"expected an entity in one piece, found {label} in {len(pieces)} pieces")
        return None
    start, end = pieces[0][0], pieces[-1][1]
    read = offsets.in_code_points(start, end, surface)
    if read is None:
        log.lose(
            place,
            f"expected offsets that give {surface!r}, found {start} to {end}, which do not in any "
            f"of {', '.join(UNITS)}",
        )
        return None
    unit, first, last = read
    if unit != UNITS[0]:
        log.remark(f"offsets of brat were read as {unit}")
    return CharacterEntity(first, last, label, place)


@dataclass(frozen=True, slots=True)
class _StoredSentence:
    """Where a sentence that metacross wrote is in the text, and its words."""

    start: int
    end: int
    words: StoredWords | None
    language: str | None
    labeled: bool


def _stored_sentences(path: Path, text: str, log: ReadingLog) -> list[_StoredSentence] | None:
    """The sentences in the file that brat does not know; None if it is not there or outdated."""
    if not path.exists():
        return None
    try:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        records = [json.loads(line) for line in lines]
        if records[0]["text"] != _digest(text):
            log.remark(f"{path} belongs to another text and was not used")
            return None
        return [
            _StoredSentence(
                int(record["start"]),
                int(record["end"]),
                words_from_json(record),
                record.get("language"),
                bool(record["labeled"]),
            )
            for record in records[1:]
        ]
    except (OSError, ValueError, KeyError, IndexError, TypeError) as problem:
        raise DataError(f"{path}: cannot be parsed: {problem}; delete it") from problem


def _by_part(
    entities: Iterable[CharacterEntity] | None, parts: Sequence[_StoredSentence]
) -> list[list[CharacterEntity] | None]:
    """The entities that start in each part, in the order in which they are annotated; None: nobody
    annotated the part. A text that was written without any labels was annotated since then.
    """
    if entities is None:
        return [None] * len(parts)
    by_part: list[list[CharacterEntity]] = [[] for _ in parts]
    starts = [part.start for part in parts]
    for entity in entities:
        number = bisect_right(starts, entity.start) - 1
        if number >= 0 and entity.start < parts[number].end:
            by_part[number].append(entity)
    any_labeled = any(part.labeled for part in parts)
    return [
        found if part.labeled or found or not any_labeled else None
        for found, part in zip(by_part, parts, strict=True)
    ]


def _part_of(
    annotated: AnnotatedText, part: _StoredSentence, entities: Iterable[CharacterEntity] | None
) -> AnnotatedText:
    """The text of a part, with its entities as ranges of it."""
    if entities is not None:
        entities = tuple(
            replace(entity, start=entity.start - part.start, end=entity.end - part.start)
            for entity in entities
        )
    return AnnotatedText(
        annotated.text[part.start : part.end],
        entities,
        replace(annotated.origin, start=part.start),
        part.language or annotated.language,
        part.words,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def brat_files(items: Iterable[Item]) -> dict[str, str]:
    """The contents of the files of a document, by suffix: one sentence per line.

    A third file with the words is there if the text alone would read back differently; brat ignores
    it.
    """
    sentences = [sentence_of(item) for item in items]
    text, starts = "", []
    for sentence in sentences:
        starts.append(len(text))
        text += sentence.laid_out().text + "\n"
    lines = list(_annotation_lines(sentences, starts))
    files = {TEXT: text}
    if any(sentence.spans is not None for sentence in sentences):
        files[ANNOTATIONS] = "".join(lines)
    if not _reads_back(sentences, starts, text):
        files[WORDS] = "".join(_word_lines(sentences, starts, text))
    return files


def _annotation_lines(sentences: Sequence[Sentence], starts: Sequence[int]) -> Iterator[str]:
    number = 0
    for sentence, offset in zip(sentences, starts, strict=True):
        text = sentence.laid_out().text
        for entity in entities_of(sentence):
            if re.search(r"\s", entity.label):
                raise DataError(
                    f"{sentence.place}: the label {entity.label[:40]!r} cannot be written for "
                    "brat; rename it with --map"
                )
            number += 1
            surface = text[entity.start : entity.end]
            pieces = ";".join(
                f"{offset + entity.start + start} {offset + entity.start + end}"
                for start, end in _lines_of(surface)
            )
            shown = re.sub(r"[\t\n\r]", " ", surface)
            yield f"T{number}\t{entity.label} {pieces}\t{shown}\n"


def _lines_of(surface: str) -> Iterator[tuple[int, int]]:
    """The ranges of an entity between line breaks: brat's own way to write one with a break."""
    for line in re.finditer(r"[^\n]+", surface):
        yield line.start(), line.end()


def _reads_back(sentences: Sequence[Sentence], starts: Sequence[int], text: str) -> bool:
    labeled = {sentence.labeled for sentence in sentences}
    languages = {sentence.language for sentence in sentences}
    if len(labeled) != 1 or languages != {None}:
        return False
    entities = tuple(
        entity
        for sentence, start in zip(sentences, starts, strict=True)
        for entity in entities_of(sentence, offset=start)
    )
    annotated = AnnotatedText(text, entities if labeled == {True} else None, Origin("", 1))
    return sentences_of_text(annotated, ReadingLog()) == list(sentences)


def _word_lines(sentences: Sequence[Sentence], starts: Sequence[int], text: str) -> Iterator[str]:
    yield json.dumps({"text": _digest(text)}) + "\n"
    for sentence, start in zip(sentences, starts, strict=True):
        layout = sentence.layout
        words = (
            {"tokens": list(sentence.words)}
            if layout is None
            else {"offsets": [list(pair) for pair in layout.offsets]}
        )
        record: dict[str, Any] = {
            "start": start,
            "end": start + len(sentence.laid_out().text),
            "labeled": sentence.labeled,
            "metacross": words,
        }
        if sentence.language is not None:
            record["language"] = sentence.language
        yield json.dumps(record, ensure_ascii=False) + "\n"
