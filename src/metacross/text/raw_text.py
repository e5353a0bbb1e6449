"""Reads raw text of a language: sentences without labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from metacross.errors import DataError
from metacross.text.reading import read_stream, sentence_layouts, unlabeled
from metacross.text.resource_files import opened, resource_lines
from metacross.text.sentence import Corpus, Origin, Sentence


def read_raw_text(
    path: str | Path, *, language: str | None = None, max_sentences: int | None = None
) -> Corpus:
    """Read text, a tab-separated file with the text in its first column, CoNLL or JSON lines.

    Labels are dropped, and so are sentences that came before. ``.gz`` files are decompressed.
    """
    sentences: dict[tuple[str, ...], Sentence] = {}
    for sentence in _sentences(Path(path), language):
        sentences.setdefault(sentence.words, sentence)
        if len(sentences) == max_sentences:
            break
    if not sentences:
        raise DataError(f"{path}: expected sentences, found none")
    return Corpus(tuple(sentences.values()), source=str(path))


def _sentences(path: Path, language: str | None) -> Iterator[Sentence]:
    if ".tsv" in path.suffixes[-2:]:
        for number, line in resource_lines(path):
            origin = Origin(str(path), number)
            for _, layout in sentence_layouts(line.partition("\t")[0], language):
                yield unlabeled(layout, language, origin)
        return
    with opened(path) as stream:
        for sentence in read_stream(stream, str(path), language=language):
            yield replace(sentence.with_spans(None), language=language or sentence.language)
