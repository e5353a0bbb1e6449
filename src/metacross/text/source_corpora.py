"""Reads the labeled corpora of one or several source languages as one corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from metacross.errors import SettingsError
from metacross.text.language_codes import is_language
from metacross.text.reading import stream_corpus
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Corpus, Sentence
from metacross.text.stored_sentences import stored


def read_sources(
    source: str | Path | Mapping[str, str | Path],
    *,
    language: str | None = None,
    new_labels: Mapping[str, str | None] = MappingProxyType({}),
    max_in_memory: int | None = None,
    folder: Path | None = None,
) -> Corpus:
    """Read a corpus, or the corpora of several languages, one after another.

    Every sentence of several languages has its language. ``language`` is that of a single corpus.
    ``new_labels`` are applied as by :meth:`Corpus.relabeled`. A corpus of more than
    ``max_in_memory`` sentences is written to a file in ``folder`` and read from there.
    """
    if not isinstance(source, Mapping):
        files: list[tuple[str | Path, str | None]] = [(source, language)]
    elif source:
        files = [(file, code) for code, file in source.items()]
    else:
        raise SettingsError("expected at least one source language, found none")
    logs = [ReadingLog() for _ in files]
    sentences = (
        sentence.relabeled(new_labels)
        for (file, code), log in zip(files, logs, strict=True)
        for sentence in stream_corpus(file, log, language=code)
    )
    kept = in_memory_or_stored(sentences, max_in_memory, folder)
    name = ", ".join(str(file) for file, _ in files)
    if len(logs) > 1:
        return Corpus(kept, source=name)
    return Corpus(kept, source=name, notes=logs[0].notes)


def in_memory_or_stored(
    sentences: Iterable[Sentence], max_in_memory: int | None, folder: Path | None
) -> Sequence[Sentence]:
    """The sentences in memory; more than ``max_in_memory`` of them are written to a file in
    ``folder``. None: all of them are in memory.
    """
    if max_in_memory is None or folder is None:
        return tuple(sentences)
    sentences = iter(sentences)
    first = list(islice(sentences, max_in_memory + 1))
    if len(first) <= max_in_memory:
        return tuple(first)
    return stored(_emptied(first, sentences), folder)


def _emptied(first: list[Sentence], others: Iterator[Sentence]) -> Iterator[Sentence]:
    """All sentences; the list loses those that were taken."""
    first.reverse()
    while first:
        yield first.pop()
    yield from others


def parsed_sources(option: str, values: Sequence[str] | None) -> str | dict[str, str] | None:
    """The value of an option that is a file, or ``LANG=FILE`` for each of several languages.

    >>> parsed_sources("--source", ["en=a.conll", "de=b.conll"])
    {'en': 'a.conll', 'de': 'b.conll'}
    >>> parsed_sources("--source", ["a.conll"])
    'a.conll'
    """
    if not values:
        return None
    pairs = [value.partition("=") for value in values]
    has_languages = [sign == "=" and is_language(code) for code, sign, _ in pairs]
    if not any(has_languages) and len(values) == 1:
        return values[0]
    if not all(has_languages):
        wrong = values[has_languages.index(False)]
        raise SettingsError(
            f"{option}: expected LANG=FILE for each of several languages, as in en=en/train.conll, "
            f"found {wrong!r}"
        )
    files = {code: file for code, _, file in pairs}
    if len(files) < len(values):
        raise SettingsError(f"{option}: expected every language once, found one of them twice")
    return files
