"""Reads the labeled corpora of one or several source languages as one corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from metacross.errors import SettingsError
from metacross.text.language_codes import is_language
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus


def read_sources(
    source: str | Path | Mapping[str, str | Path], *, language: str | None = None
) -> Corpus:
    """Read a corpus, or the corpora of several languages, one after another.

    Every sentence of several languages has its language. ``language`` is that of a single corpus.
    """
    if not isinstance(source, Mapping):
        return read_corpus(source, language=language)
    if not source:
        raise SettingsError("expected at least one source language, found none")
    corpora = [read_corpus(file, language=code) for code, file in source.items()]
    sentences = tuple(sentence for corpus in corpora for sentence in corpus)
    return Corpus(sentences, source=", ".join(corpus.name for corpus in corpora))


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
