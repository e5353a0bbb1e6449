"""Reads the text that an encoder may learn from: sentences under open licenses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from metacross.errors import DataError
from metacross.text.lines import numbered_lines

PIVOT = "en"
LANGUAGES = (PIVOT, "es", "nl", "de", "fr", "zh")
OPEN_SOURCES = frozenset({"common-voice", "tatoeba", "xquad", "wiki-lmmrl", "libreoffice-help"})
"""Names in the last column of a file; rows of any other source are left out."""
_OPEN_PREFIX = "UD_"


@dataclass(frozen=True)
class OpenText:
    """Distinct sentences by language, and English sentences with their translations by the
    translations' language. A language without any is no key.
    """

    sentences: dict[str, tuple[str, ...]]
    pairs: dict[str, tuple[tuple[str, str], ...]]

    @cached_property
    def digest(self) -> str:
        """The same for the same text only."""
        return hashlib.sha256(f"{self.sentences} {self.pairs}".encode()).hexdigest()


def read_open_text(folder: Path) -> OpenText:
    """Read ``text/LANGUAGE.tsv`` (sentence, source) and ``parallel/en-LANGUAGE.tsv`` (English,
    translation, source); files that are not there are left out.
    """
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing there"
        raise DataError(f"{folder}: expected a folder of text, found {found}")
    pairs = {
        language: tuple(
            (english, translated)
            for english, translated in _open_rows(folder / "parallel" / f"en-{language}.tsv", 2)
            if english.strip() and translated.strip()
        )
        for language in LANGUAGES[1:]
    }
    sentences = {language: _sentences(folder, language, pairs) for language in LANGUAGES}
    text = OpenText(
        {language: own for language, own in sentences.items() if own},
        {language: own for language, own in pairs.items() if own},
    )
    if not text.sentences:
        raise DataError(
            f"{folder}: expected sentences of open sources in text/{PIVOT}.tsv and the like, "
            f"found none"
        )
    return text


def is_open(source: str) -> bool:
    """Whether a source's license lets an encoder learn from it and be shared.

    >>> is_open("UD_German-GSD"), is_open("newspaper")
    (True, False)
    """
    return source in OPEN_SOURCES or source.startswith(_OPEN_PREFIX)


def _sentences(
    folder: Path, language: str, pairs: dict[str, tuple[tuple[str, str], ...]]
) -> tuple[str, ...]:
    """All distinct sentences of a language, single and translated, in a fixed order."""
    found = [sentence for (sentence,) in _open_rows(folder / "text" / f"{language}.tsv", 1)]
    if language == PIVOT:
        found += [english for own in pairs.values() for english, _ in own]
    else:
        found += [translated for _, translated in pairs[language]]
    return tuple(sentence for sentence in dict.fromkeys(found) if sentence.strip())


def _open_rows(path: Path, n_columns: int) -> Iterator[list[str]]:
    """The columns before the source, of rows whose source is open."""
    if not path.exists():
        return
    try:
        with path.open("rb") as stream:
            for number, line in numbered_lines(stream, str(path), "utf-8"):
                *columns, source = line.split("\t")
                if is_open(source):
                    if len(columns) != n_columns:
                        raise DataError(
                            f"{path}:{number}: expected {n_columns + 1} columns, "
                            f"found {len(columns) + 1}"
                        )
                    yield columns
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror}") from problem
