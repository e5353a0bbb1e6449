"""Makes labeled sentences without end, by varying the bundled corpus."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.sentence import Sentence, Span

_OTHER_ENTITY, _OTHER_WORD, _TWO_SENTENCES = 0.8, 0.3, 0.2  # probabilities


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What sentences are varied with: entities by label, and lower-case words outside entities."""

    entities: dict[str, Sequence[tuple[str, ...]]]
    words: Sequence[str]


def varied_sentences(
    n: int, *, seed: int, language: str = "en", split: str = "train"
) -> Iterator[Sentence]:
    """Sentences of the bundled corpus with other entities of the same label and some other words;
    every fifth is two of them. The same seed gives the same sentences.
    """
    corpus = bundled_corpus(language, split).sentences
    vocabulary = _vocabulary(corpus)
    rng = random.Random(seed)
    for _ in range(n):
        words, spans = _varied(rng.choice(corpus), vocabulary, rng)
        if rng.random() < _TWO_SENTENCES:
            more_words, more_spans = _varied(rng.choice(corpus), vocabulary, rng)
            shift = len(words)
            spans += [Span(s.start + shift, s.end + shift, s.label) for s in more_spans]
            words += more_words
        yield Sentence(tuple(words), tuple(spans), language=language)


def _varied(
    sentence: Sentence, vocabulary: Vocabulary, rng: random.Random
) -> tuple[list[str], list[Span]]:
    words: list[str] = []
    spans: list[Span] = []
    position = 0
    for span in (*(sentence.spans or ()), None):
        for word in sentence.words[position : span.start if span else None]:
            is_varied = word.islower() and rng.random() < _OTHER_WORD
            words.append(rng.choice(vocabulary.words) if is_varied else word)
        if span is not None:
            entity = sentence.words_of(span)
            if rng.random() < _OTHER_ENTITY:
                first, last = (rng.choice(vocabulary.entities[span.label]) for _ in range(2))
                entity = (*first[:-1], last[-1]) if len(first) > 1 else first
            spans.append(Span(len(words), len(words) + len(entity), span.label))
            words += entity
            position = span.end
    return words, spans


def _vocabulary(corpus: Sequence[Sentence]) -> Vocabulary:
    entities: dict[str, set[tuple[str, ...]]] = {}
    words: set[str] = set()
    for sentence in corpus:
        inside: set[int] = set()
        for span in sentence.spans or ():
            entities.setdefault(span.label, set()).add(sentence.words_of(span))
            inside.update(range(span.start, span.end))
        words.update(w for i, w in enumerate(sentence.words) if i not in inside and w.islower())
    return Vocabulary({label: sorted(some) for label, some in entities.items()}, sorted(words))
