"""A text with entities by character becomes sentences with entities by word."""

import random
from collections.abc import Sequence

from metacross.text.annotation_formats.annotated_text import (
    AnnotatedText,
    CharacterEntity,
    StoredWords,
    sentences_of_text,
)
from metacross.text.reading_log import ReadingLog
from metacross.text.sentence import Origin
from metacross.text.sentence_splitting import split_sentences
from metacross.text.word_splitting import split_text

PIECES = [
    "Ana",
    "Bilbao-Vitoria",
    "slept",
    "U.S.",
    "語林",
    " ",
    " ",
    ". ",
    "? ",
    "\n\n",
    ",",
    "'s ",
]


def random_text(rng: random.Random) -> AnnotatedText:
    """A text with entities that do not overlap, and do not begin or end with white space."""
    text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 30)))
    entities, end = [], 0
    while True:
        start = end + rng.randint(0, 12)
        end = start + rng.randint(1, 9)
        if end > len(text):
            break
        if text[start:end] == text[start:end].strip():
            entities.append(CharacterEntity(start, end, rng.choice(["PER", "LOC"])))
    rng.shuffle(entities)
    return AnnotatedText(text, tuple(entities), Origin("x", 1), "en")


def words_and_entities(
    offsets: Sequence[tuple[int, int]], entities: Sequence[CharacterEntity]
) -> tuple[list[tuple[int, int]], list[tuple[int, int, str]]]:
    """Words cut at the edges of entities, and the words of each entity, by looking at all pairs."""
    edges = sorted({edge for entity in entities for edge in (entity.start, entity.end)})
    cut = []
    for start, end in offsets:
        for edge in edges:
            if start < edge < end:
                cut.append((start, edge))
                start = edge
        cut.append((start, end))
    spans = []
    for entity in sorted(entities):
        inside = [n for n, (s, e) in enumerate(cut) if entity.start <= s and e <= entity.end]
        spans.append((inside[0], inside[-1] + 1, entity.label))
    return cut, spans


def expected_sentences(annotated: AnnotatedText):
    """What sentences_of_text should give, by looking at all pairs of sentences and entities."""
    text, entities = annotated.text, annotated.entities or ()
    ends = [
        end
        for _, end in split_sentences(text, "en")
        if not any(entity.start < end < entity.end for entity in entities)
    ]
    starts = [next(iter(split_sentences(text, "en")))[0], *ends]
    for first, end in zip(starts, ends, strict=False):
        offsets = [(s + first, e + first) for s, e in split_text(text[first:end], "en").offsets]
        if offsets:
            yield words_and_entities(offsets, [e for e in entities if first <= e.start < end])


def found_in(sentence, start: int):
    offsets = [(first + start, last + start) for first, last in sentence.layout.offsets]
    return offsets, [(span.start, span.end, span.label) for span in sentence.spans]


def test_sentences_have_the_entities_and_words_that_lie_in_them():
    rng = random.Random(5)
    n_entities = n_joined = 0
    for _ in range(400):
        annotated = random_text(rng)
        sentences = sentences_of_text(annotated, ReadingLog())
        found = [found_in(sentence, sentence.origin.start) for sentence in sentences]
        assert found == list(expected_sentences(annotated))
        n_entities += len(annotated.entities)
        n_joined += len(list(split_sentences(annotated.text, "en"))) - len(sentences)
    assert n_entities > 400
    assert n_joined > 100


def test_stored_words_are_cut_at_the_edges_of_entities():
    rng = random.Random(6)
    n_entities = 0
    for _ in range(200):
        annotated = random_text(rng)
        offsets = split_text(annotated.text, "en").offsets
        if not offsets:
            continue
        stored = AnnotatedText(
            annotated.text, annotated.entities, annotated.origin, "en", StoredWords(offsets=offsets)
        )
        (sentence,) = sentences_of_text(stored, ReadingLog())
        assert found_in(sentence, 0) == words_and_entities(offsets, annotated.entities)
        n_entities += len(annotated.entities)
    assert n_entities > 200


class CountedEntity(CharacterEntity):
    """An entity that counts how often anybody looks at one."""

    n_looks = 0

    def __getattribute__(self, name: str) -> object:
        CountedEntity.n_looks += 1
        return super().__getattribute__(name)


def looks_at_entities(n_sentences: int) -> int:
    entities = tuple(CountedEntity(7 * n, 7 * n + 3, "PER") for n in range(n_sentences))
    annotated = AnnotatedText("Ana x. " * n_sentences, entities, Origin("x", 1), "en")
    before = CountedEntity.n_looks
    assert len(sentences_of_text(annotated, ReadingLog())) == n_sentences
    return CountedEntity.n_looks - before


def test_twice_as_many_sentences_take_twice_the_work():
    once, twice = looks_at_entities(100), looks_at_entities(200)
    assert 0 < twice < 2.2 * once
