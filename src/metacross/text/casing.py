"""How a language capitalizes words inside sentences, measured on raw text and applied to words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metacross.text.sentence import Sentence

_QUOTES = frozenset("\"'“”„«»‘’‚‹›([-–—¿¡")
_MIN_COUNT = 2


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
