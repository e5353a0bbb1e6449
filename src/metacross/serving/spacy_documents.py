"""Turns spaCy documents into sentences, and predictions into annotations of documents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias

from spacy.tokens import Doc, Span, SpanGroup
from spacy.util import filter_spans

from metacross.adaptation.prediction import Neighbor, SentencePrediction
from metacross.text.reading import unlabeled
from metacross.text.sentence import Layout, Sentence
from metacross.text.sentence_splitting import split_sentences
from metacross.text.word_splitting import split_text

Words: TypeAlias = Literal["spacy", "metacross"]
PlacedSentence: TypeAlias = tuple[int, Sentence]
"""A sentence with the character offset at which its text starts in the document."""
PlacedPrediction: TypeAlias = tuple[int, SentencePrediction]

SCORE = "metacross_score"
NEIGHBORS = "metacross_neighbors"


def register_extensions() -> None:
    """Define ``span._.metacross_score``, and ``metacross_neighbors`` of documents and spans."""
    Span.set_extension(SCORE, default=None, force=True)
    Doc.set_extension(NEIGHBORS, default=None, force=True)
    Span.set_extension(NEIGHBORS, getter=_neighbors_of_span, force=True)


def sentences_of(doc: Doc, *, words: Words, language: str | None) -> list[PlacedSentence]:
    """The sentences of a document that have words.

    The boundaries are those of ``doc.sents`` if a component has set them, otherwise ours. Words are
    spaCy's tokens without blank ones, or ours.
    """
    text = doc.text
    if doc.has_annotation("SENT_START"):
        ranges = tuple((sentence.start_char, sentence.end_char) for sentence in doc.sents)
    else:
        ranges = split_sentences(text, language)
    layouts = (
        _layouts_of_tokens(doc, text, ranges)
        if words == "spacy"
        else ((start, split_text(text[start:end], language)) for start, end in ranges)
    )
    return [(start, unlabeled(layout, language)) for start, layout in layouts if layout.offsets]


def _layouts_of_tokens(
    doc: Doc, text: str, ranges: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, Layout]]:
    """A token belongs to the sentence in which it starts."""
    ends = [end for _, end in ranges]
    offsets = ((token.idx, token.idx + len(token)) for token in doc if not token.is_space)
    for _, group in groupby(offsets, key=lambda offset: bisect_right(ends, offset[0])):
        tokens = list(group)
        first, last = tokens[0][0], tokens[-1][1]
        moved = tuple((start - first, end - first) for start, end in tokens)
        yield first, Layout(text[first:last], moved)


def annotate(
    doc: Doc,
    predictions: Sequence[PlacedPrediction],
    *,
    overwrite: bool,
    spans_key: str | None,
    keep_neighbors: bool,
) -> None:
    """Write the entities of a document's sentences into it, with their scores.

    An entity that ends inside a token is widened to the whole token; of two entities that overlap
    then, the longer one is kept.
    """
    scores: dict[Span, float] = {}
    for start, prediction in predictions:
        for entity in prediction.entities:
            span = doc.char_span(
                start + entity.start,
                start + entity.end,
                label=entity.label,
                alignment_mode="expand",
            )
            if span is not None:
                scores.setdefault(span, entity.score)
    spans = filter_spans(scores)
    for span in spans:
        span._.set(SCORE, scores[span])
    if spans_key is not None:
        span_scores = {"scores": [scores[span] for span in spans]}
        doc.spans[spans_key] = SpanGroup(doc, name=spans_key, attrs=span_scores, spans=spans)
    # An entity that is in the document already goes first, and so wins against ours.
    ents = spans if overwrite else _without_overlap([*doc.ents, *spans])
    doc.set_ents(ents, default="outside")
    if keep_neighbors:
        doc._.set(NEIGHBORS, [_neighbors_of_sentence(*placed) for placed in predictions])


def _without_overlap(spans: Sequence[Span]) -> list[Span]:
    """The spans, without those that overlap an earlier one."""
    taken: set[int] = set()
    kept = []
    for span in spans:
        if taken.isdisjoint(range(span.start, span.end)):
            taken.update(range(span.start, span.end))
            kept.append(span)
    return kept


def _neighbors_of_sentence(start: int, prediction: SentencePrediction) -> dict[str, Any]:
    """Values that msgpack can write: documents cross between processes in it."""
    offsets = prediction.sentence.laid_out().offsets
    return {
        "start": start + offsets[0][0],
        "end": start + offsets[-1][1],
        "neighbors": [_neighbor(neighbor) for neighbor in prediction.neighbors],
    }


def _neighbor(neighbor: Neighbor) -> dict[str, Any]:
    layout = neighbor.sentence.laid_out()
    return {
        "position": neighbor.position,
        "similarity": float(neighbor.similarity),
        "text": layout.text,
        "entities": [
            {
                "start": layout.offsets[span.start][0],
                "end": layout.offsets[span.end - 1][1],
                "label": span.label,
            }
            for span in neighbor.sentence.spans or ()
        ],
    }


def _neighbors_of_span(span: Span) -> list[dict[str, Any]] | None:
    """The neighbors of the sentences that a span is in; None if they were not kept."""
    sentences = span.doc._.get(NEIGHBORS)
    if sentences is None:
        return None
    return [
        neighbor
        for sentence in sentences
        if sentence["start"] < span.end_char and span.start_char < sentence["end"]
        for neighbor in sentence["neighbors"]
    ]
