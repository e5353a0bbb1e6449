"""Opens the corpus that comes with metacross."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus

TARGETS = ("es", "nl", "de", "fr", "zh")
"""The languages of the test sentences; training and dev sentences are English."""


def bundled_corpus(language: str, split: str) -> Corpus:
    """``en`` has ``train`` and ``dev``, the target languages have ``test``.

    >>> len(bundled_corpus("en", "train"))
    500
    """
    name = f"{language}.{split}.conll"
    corpus = read_corpus(str(corpus_folder() / name), language=language)
    return replace(corpus, source=name)


def corpus_folder() -> Path:
    """Where the files lie."""
    return Path(str(resources.files("metacross"))) / "assets" / "corpus"
