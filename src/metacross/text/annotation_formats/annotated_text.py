"""Turns a text with entities by character into sentences with entities by word."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from metacross.errors import DataError
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Layout, Origin, Sentence, Span
from metacross.text.sentence_splitting import split_sentences
from metacross.text.word_splitting import split_text


@dataclass(frozen=True, slots=True, order=True)
class CharacterEntity:
    """An entity as half-open range of code points; ``place`` says where it was annotated."""

    start: int
    end: int
    label: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class StoredWords:
    """The words of a text that is one sentence, as metacross wrote them beside it.

    ``offsets`` None: the sentence was given as words, and the text is these words joined by blanks.
    """

    words: tuple[str, ...] | None = None
    offsets: tuple[tuple[int, int], ...] | None = None

    def fits(self, text: str) -> bool:
        """Whether the text still has these words; somebody may have edited it."""
        if self.words is not None:
            return bool(self.words) and " ".join(self.words) == text
        end = 0
        for first, last in self.offsets or ():
            if not end <= first < last <= len(text):
                return False
            end = last
        return bool(self.offsets)

    def layout(self, text: str) -> Layout:
        """The words as ranges of the text."""
        if self.words is not None:
            return Sentence(self.words).laid_out()
        return Layout(text, self.offsets or ())


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text as an annotation tool keeps it; ``entities`` None: nobody annotated it."""

    text: str
    entities: tuple[CharacterEntity, ...] | None
    origin: Origin
    language: str | None = None
    words: StoredWords | None = None


def sentences_of_text(annotated: AnnotatedText, log: ReadingLog) -> list[Sentence]:
    """The sentences of a text that have words, each with its entities.

    Words are split wherever an entity starts or ends. A sentence does not end inside an entity.
    Overlapping entities are refused, or the longest are kept and the others reported.
    """
    _check_unicode(annotated)
    stored: Layout | None = None
    if annotated.words is not None and annotated.words.fits(annotated.text):
        stored = annotated.words.layout(annotated.text)
    edges = {edge for pair in (stored.offsets if stored else ()) for edge in pair}
    entities = _separate(_trimmed(annotated, edges, log), log)
    if annotated.words is not None and stored is not None:
        on_words = list(_on_words(entities, stored, log))
        return [_stored_sentence(annotated, annotated.words, stored, on_words)]
    starts = [entity.start for entity in entities]
    sentences = []
    for start, end in _sentence_ranges(annotated, entities):
        within = entities[bisect_left(starts, start) : bisect_left(starts, end)]
        sentence = _sentence(annotated, start, end, within)
        if sentence is not None:
            sentences.append(sentence)
    if not sentences:
        log.empty_sentences += 1
    return sentences


def entities_of(sentence: Sentence, *, offset: int = 0) -> tuple[CharacterEntity, ...]:
    """The entities of a sentence as ranges of its text; ``offset`` is where that text starts."""
    offsets = sentence.laid_out().offsets
    return tuple(
        CharacterEntity(
            offset + offsets[span.start][0], offset + offsets[span.end - 1][1], span.label
        )
        for span in sentence.spans or ()
    )


def words_to_store(sentence: Sentence) -> StoredWords | None:
    """The words to write beside the text of a sentence; None if the text alone reads back equal."""
    entities = None if sentence.spans is None else entities_of(sentence)
    origin = Origin("", 0)
    annotated = AnnotatedText(sentence.laid_out().text, entities, origin, sentence.language)
    if sentences_of_text(annotated, ReadingLog()) == [sentence]:
        return None
    if sentence.layout is None:
        return StoredWords(words=sentence.words)
    return StoredWords(offsets=sentence.layout.offsets)


def _check_unicode(annotated: AnnotatedText) -> None:
    if any("\ud800" <= character <= "\udfff" for character in annotated.text):
        raise DataError(
            f"{annotated.origin}: expected Unicode text, found a lone surrogate in "
            f"{annotated.text[:40]!r}"
        )


def _trimmed(
    annotated: AnnotatedText, word_edges: Collection[int], log: ReadingLog
) -> Iterator[CharacterEntity]:
    """The entities within the text, without white space at edges that are no edges of words."""
    for entity in annotated.entities or ():
        if not 0 <= entity.start < entity.end <= len(annotated.text):
            log.lose(
                entity.place,
                f"expected a start and a later end within {len(annotated.text)} characters, "
                f"found {entity.label} from {entity.start} to {entity.end}",
            )
            continue
        surface = annotated.text[entity.start : entity.end]
        start, end = entity.start, entity.end
        if start not in word_edges:
            start += len(surface) - len(surface.lstrip())
        if end not in word_edges:
            end -= len(surface) - len(surface.rstrip())
        if start >= end:
            log.lose(
                entity.place,
                f"expected an entity with at least one character, found {entity.label} around "
                "white space",
            )
            continue
        yield replace(entity, start=start, end=end)


def _separate(entities: Iterable[CharacterEntity], log: ReadingLog) -> list[CharacterEntity]:
    """Entities that do not overlap, in order: longer ones win where losses are allowed."""
    in_order = sorted(entities)
    if all(entity.end <= following.start for entity, following in pairwise(in_order)):
        return in_order
    kept: list[CharacterEntity] = []
    for entity in sorted(in_order, key=lambda entity: (entity.start - entity.end, entity.start)):
        other = next((e for e in kept if e.start < entity.end and entity.start < e.end), None)
        if other is None:
            kept.append(entity)
        elif (other.start, other.end, other.label) == (entity.start, entity.end, entity.label):
            log.omit(entity.place, f"{_shown(entity)} is annotated twice")
        else:
            log.lose(
                entity.place,
                f"expected entities that do not overlap, found {_shown(entity)} and "
                f"{_shown(other)}",
            )
    return sorted(kept)


def _shown(entity: CharacterEntity) -> str:
    return f"{entity.label} from {entity.start} to {entity.end}"


def _on_words(
    entities: Iterable[CharacterEntity], layout: Layout, log: ReadingLog
) -> Iterator[CharacterEntity]:
    """The entities that have words: stored words need not cover the whole text."""
    ends = [end for _, end in layout.offsets]
    for entity in entities:
        following = bisect_right(ends, entity.start)  # the first word that ends after the start
        if following < len(ends) and layout.offsets[following][0] < entity.end:
            yield entity
        else:
            log.lose(
                entity.place,
                f"expected an entity with at least one word, found {_shown(entity)} between words",
            )


def _stored_sentence(
    annotated: AnnotatedText,
    words: StoredWords,
    stored: Layout,
    entities: Sequence[CharacterEntity],
) -> Sentence:
    """The sentence with the words that metacross wrote, cut where an annotator cut them."""
    layout = _cut(stored, entities)
    keeps_words = words.offsets is None and layout == stored
    return replace(
        _labeled(annotated, layout, entities, annotated.origin),
        layout=None if keeps_words else layout,
    )


def _sentence_ranges(
    annotated: AnnotatedText, entities: Sequence[CharacterEntity]
) -> Iterator[tuple[int, int]]:
    """The ranges of sentences; those that one of the entities, which are in order, crosses are
    joined.
    """
    ranges = list(split_sentences(annotated.text, annotated.language))
    if not ranges:
        return
    first = ranges[0][0]
    ends = [entity.end for entity in entities]
    for (_, end), _ in pairwise(ranges):
        next_one = bisect_right(ends, end)  # the only entity that the sentence can end in
        if next_one == len(entities) or entities[next_one].start >= end:
            yield first, end
            first = end
    yield first, ranges[-1][1]


def _sentence(
    annotated: AnnotatedText, start: int, end: int, entities: Sequence[CharacterEntity]
) -> Sentence | None:
    """The sentence in a range of the text, with the entities in it; None if it has no words."""
    layout = split_text(annotated.text[start:end], annotated.language)
    if not layout.offsets:
        return None
    within = [
        replace(entity, start=entity.start - start, end=entity.end - start) for entity in entities
    ]
    origin = replace(annotated.origin, start=annotated.origin.start + start)
    return _labeled(annotated, _cut(layout, within), within, origin)


def _cut(layout: Layout, entities: Sequence[CharacterEntity]) -> Layout:
    """The layout with words split at the edges of entities."""
    edges = sorted({edge for entity in entities for edge in (entity.start, entity.end)})
    offsets: list[tuple[int, int]] = []
    for start, end in layout.offsets:
        inside = edges[bisect_right(edges, start) : bisect_left(edges, end)]
        offsets += pairwise((start, *inside, end))
    return Layout(layout.text, tuple(offsets))


def _labeled(
    annotated: AnnotatedText, layout: Layout, entities: Sequence[CharacterEntity], origin: Origin
) -> Sentence:
    words = tuple(layout.text[start:end] for start, end in layout.offsets)
    spans: tuple[Span, ...] | None = None
    if annotated.entities is not None:
        spans = tuple(_word_spans(layout, entities))
    return Sentence(words, spans, annotated.language, origin, layout)


def _word_spans(layout: Layout, entities: Sequence[CharacterEntity]) -> Iterator[Span]:
    """The words that lie in the range of each entity."""
    starts = [start for start, _ in layout.offsets]
    ends = [end for _, end in layout.offsets]
    for entity in entities:
        yield Span(bisect_left(starts, entity.start), bisect_right(ends, entity.end), entity.label)
