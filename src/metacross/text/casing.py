"""How a language capitalizes words inside sentences, measured on raw text and applied to words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from metacross.text.sentence import Corpus, Sentence

_QUOTES = frozenset("\"'“”„«»‘’‚‹›([-–—¿¡")
_MIN_COUNT = 2
_MIN_LETTERS = 4  # nouns are longer than most other words


@dataclass(frozen=True, slots=True)
class CapitalDraw:
    """How many words get a capital: in ``sentences`` of all sentences, ``words`` of their longer
    lower-case words outside entities.
    """

    sentences: float
    words: float


NOUNS = CapitalDraw(sentences=0.5, words=0.5)
"""For languages that capitalize nouns, such as German."""


def is_capitalized(word: str) -> bool:
    """Whether a word has a capital first letter and a small letter.

    >>> is_capitalized("Haus"), is_capitalized("USA"), is_capitalized("haus")
    (True, False, False)
    """
    return word[:1].isupper() and any(map(str.islower, word))


def capitalized(word: str) -> str:
    """The word with a capital first letter."""
    return word[:1].upper() + word[1:]


def inside_positions(words: tuple[str, ...]) -> list[int]:
    """The positions of words whose capitals mean something: not at the start of the sentence, of a
    quotation, or after a full stop or colon.
    """
    positions, at_start = [], True
    for position, word in enumerate(words):
        if any(map(str.isalpha, word)):
            if not at_start:
                positions.append(position)
            at_start = False
        elif word in (".", ":", "!", "?", "…") or word in _QUOTES:
            at_start = True
        elif word in (",", ";"):
            at_start = False
    return positions


@dataclass(frozen=True, slots=True)
class CapitalShares:
    """How often the words of a language are capitalized inside sentences, by lower-cased word.

    ``overall`` is the share of all words with letters.
    """

    share_of: Mapping[str, float]
    overall: float

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> CapitalShares:
        """Measure sentences."""
        n_seen: Counter[str] = Counter()
        n_capitalized: Counter[str] = Counter()
        for sentence in sentences:
            for position in inside_positions(sentence.words):
                word = sentence.words[position]
                n_seen[word.lower()] += 1
                n_capitalized[word.lower()] += is_capitalized(word)
        total = sum(n_seen.values())
        return cls(
            {word: n_capitalized[word] / n for word, n in n_seen.items() if n >= _MIN_COUNT},
            sum(n_capitalized.values()) / total if total else 0.0,
        )

    def usually_capitalized(self, word: str, *, at_least: float) -> bool:
        """Whether the share of a word is ``at_least`` this; a word that is too rare has none."""
        return self.share_of.get(word.lower(), 0.0) >= at_least


def with_capitals(corpus: Corpus, draw: CapitalDraw, *, seed: int) -> Corpus:
    """The corpus with random capitals, as a language that capitalizes nouns has them. Entities
    stay as they are: a model learns that a capital alone makes no entity.
    """
    return replace(corpus, sentences=tuple(sentences_with_capitals(corpus, draw, seed=seed)))


def sentences_with_capitals(
    sentences: Iterable[Sentence], draw: CapitalDraw, *, seed: int
) -> Iterator[Sentence]:
    """Yield the sentences of :func:`with_capitals`."""
    rng = np.random.default_rng(seed)
    for sentence in sentences:
        if rng.random() >= draw.sentences:
            yield sentence
            continue
        words = list(sentence.words)
        for position in _common_words(sentence):
            if rng.random() < draw.words:
                words[position] = capitalized(words[position])
        yield replace(sentence, words=tuple(words), layout=None)


def _common_words(sentence: Sentence) -> list[int]:
    """The positions of longer lower-case words outside entities."""
    in_entity = {i for span in sentence.spans or () for i in range(span.start, span.end)}
    return [
        position
        for position, word in enumerate(sentence.words)
        if position not in in_entity
        and word.islower()
        and sum(map(str.isalpha, word)) >= _MIN_LETTERS
    ]


def matching_draw(corpus: Corpus, raw_text: Iterable[Sentence]) -> CapitalDraw:
    """The draw after which words outside the corpus's entities are as often capitalized inside
    sentences as the words of raw text; no capitals if the raw text has fewer.

    Names in the raw text count as its other words do, so it should be general text.
    """
    target = CapitalShares.of(raw_text).overall
    n_words = n_capitalized = n_common = 0
    for sentence in corpus:
        in_entity = {i for span in sentence.spans or () for i in range(span.start, span.end)}
        inside = set(inside_positions(sentence.words)) - in_entity
        n_words += len(inside)
        n_capitalized += sum(is_capitalized(sentence.words[position]) for position in inside)
        n_common += len(inside.intersection(_common_words(sentence)))
    missing = target * n_words - n_capitalized
    return CapitalDraw(1.0, min(1.0, max(0.0, missing / n_common)) if n_common else 0.0)
