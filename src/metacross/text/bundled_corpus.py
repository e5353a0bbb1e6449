"""Reads the small corpus that is part of metacross."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus

TARGETS = ("es", "nl", "de", "fr", "zh")
"""The languages with test sentences. Training and dev sentences are English."""


def bundled_corpus(language: str, split: str) -> Corpus:
    """Read a part of the bundled corpus.

    Args:
        language: ``"en"`` or one of the target languages ``es nl de fr zh``.
        split: ``"train"`` or ``"dev"`` for English, ``"test"`` for a target language.

    >>> bundled_corpus("de", "test")
    <Corpus de.test.conll: 100 sentences, 179 entities>
    """
    name = f"{language}.{split}.conll"
    corpus = read_corpus(str(corpus_folder() / name), language=language)
    return replace(corpus, source=name)


def corpus_folder() -> Path:
    """The folder with the files of the bundled corpus."""
    return Path(str(resources.files("metacross"))) / "assets" / "corpus"
