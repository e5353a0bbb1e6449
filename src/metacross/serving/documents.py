"""Prepares the texts of requests for the model: sentences, words and pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metacross.text.reading import sentence_layouts, unlabeled
from metacross.text.sentence import Sentence
from metacross.text.windows import WindowCutter
from metacross.text.word_splitting import split_text


@dataclass(frozen=True, slots=True)
class Document:
    """A text, its sentences, and where they start in it.

    ``pieces`` and ``windows`` are the numbers of pieces and windows of each sentence.
    """

    text: str
    sentences: tuple[Sentence, ...]
    starts: tuple[int, ...]
    pieces: tuple[int, ...]
    windows: tuple[int, ...]


def document_of_text(text: str, language: str | None, cutter: WindowCutter) -> Document:
    """Split a text into sentences and words."""
    layouts = list(sentence_layouts(text, language))
    sentences = [unlabeled(layout, language) for _, layout in layouts]
    return _document(text, sentences, [start for start, _ in layouts], cutter)


def document_of_words(words: Sequence[str], language: str | None, cutter: WindowCutter) -> Document:
    """A sentence that is split into words already; without words an empty document."""
    if not words:
        return _document("", [], [], cutter)
    sentence = Sentence(tuple(words), None, language)
    return _document(sentence.laid_out().text, [sentence], [0], cutter)


def document_of_sentence(text: str, language: str | None, cutter: WindowCutter) -> Document:
    """Split a text into words only: it is one sentence."""
    layout = split_text(text, language)
    if not layout.offsets:
        return _document(text, [], [], cutter)
    return _document(text, [unlabeled(layout, language)], [0], cutter)


def document_of_sentences(sentences: Sequence[Sentence], cutter: WindowCutter) -> Document:
    """Sentences that are given as they are, such as labeled ones to learn from."""
    return _document("", sentences, [0] * len(sentences), cutter)


def _document(
    text: str, sentences: Sequence[Sentence], starts: Sequence[int], cutter: WindowCutter
) -> Document:
    sizes = [[len(window) for window in windows] for windows in cutter.windows(sentences)]
    return Document(
        text=text,
        sentences=tuple(sentences),
        starts=tuple(starts),
        pieces=tuple(map(sum, sizes)),
        windows=tuple(map(len, sizes)),
    )


def all_sentences(documents: Sequence[Document]) -> Iterator[tuple[Sentence, int]]:
    """The sentences of all documents in order, with their numbers of pieces."""
    for document in documents:
        yield from zip(document.sentences, document.pieces, strict=True)
