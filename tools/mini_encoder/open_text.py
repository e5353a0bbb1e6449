"""Reads text under open licenses, the only text that the student is trained on."""

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
"""Names in the last column of a file; rows of any other source are skipped."""
_OPEN_PREFIX = "UD_"


@dataclass(frozen=True)
class OpenText:
    """Distinct sentences by language, and pairs of an English sentence and its translation by the
    language of the translation. Languages without text are not among the keys.
    """

    sentences: dict[str, tuple[str, ...]]
    pairs: dict[str, tuple[tuple[str, str], ...]]

    @cached_property
    def digest(self) -> str:
        """A digest of all sentences and pairs."""
        return hashlib.sha256(f"{self.sentences} {self.pairs}".encode()).hexdigest()


def read_open_text(folder: Path) -> OpenText:
    """Read ``text/LANGUAGE.tsv`` (sentence, source) and ``parallel/en-LANGUAGE.tsv`` (English,
    translation, source). A file may be missing.
    """
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise DataError(f"{folder}: expected a folder with text/ and parallel/, found {found}")
    pairs = {
        language: tuple(
            (english, translation)
            for english, translation in _open_rows(folder / "parallel" / f"en-{language}.tsv", 2)
            if english.strip() and translation.strip()
        )
        for language in LANGUAGES[1:]
    }
    sentences = {language: _sentences(folder, language, pairs) for language in LANGUAGES}
    text = OpenText(
        {language: texts for language, texts in sentences.items() if texts},
        {language: texts for language, texts in pairs.items() if texts},
    )
    if not text.sentences:
        raise DataError(
            f"{folder}: expected sentences of open sources in files such as text/{PIVOT}.tsv, "
            f"found none"
        )
    return text


def is_open(source: str) -> bool:
    """Whether an encoder trained on text of this source may be shared.

    >>> is_open("UD_German-GSD"), is_open("newspaper")
    (True, False)
    """
    return source in OPEN_SOURCES or source.startswith(_OPEN_PREFIX)


def _sentences(
    folder: Path, language: str, pairs: dict[str, tuple[tuple[str, str], ...]]
) -> tuple[str, ...]:
    """All distinct sentences of a language, from both kinds of files, in the order of the files."""
    texts = [sentence for (sentence,) in _open_rows(folder / "text" / f"{language}.tsv", 1)]
    if language == PIVOT:
        texts += [english for group in pairs.values() for english, _ in group]
    else:
        texts += [translation for _, translation in pairs[language]]
    return tuple(sentence for sentence in dict.fromkeys(texts) if sentence.strip())


def _open_rows(path: Path, n_columns: int) -> Iterator[list[str]]:
    """The rows of open sources, without the column of the source."""
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
