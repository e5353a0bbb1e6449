"""Reads bilingual lexicons: words and short phrases with their translations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metacross.errors import DataError
from metacross.text.resource_files import parsed_weight, table_rows
from metacross.text.sentence import Sentence

_COLUMNS = ("source word", "target word", "weight")


@dataclass(frozen=True, slots=True)
class Translation:
    """The words of a translation, and how likely it is among those of the same phrase."""

    words: tuple[str, ...]
    probability: float


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Translations of words and phrases, most likely first. A phrase is written with blanks.

    >>> lexicon = Lexicon.of([("bank", "banco", 3.0), ("bank", "orilla", 1.0)])
    >>> [(t.words, t.probability) for t in lexicon.translations("bank")]
    [(('banco',), 0.75), (('orilla',), 0.25)]
    """

    entries: Mapping[str, tuple[Translation, ...]]
    source: str = "lexicon"

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str, float]], source: str = "lexicon") -> Lexicon:
        """Collect (source phrase, target phrase, weight); weights of equal pairs add up."""
        weights: dict[str, dict[str, float]] = {}
        for phrase, translation, weight in pairs:
            options = weights.setdefault(" ".join(phrase.split()), {})
            translation = " ".join(translation.split())
            options[translation] = options.get(translation, 0.0) + weight
        return cls({phrase: _ranked(options) for phrase, options in weights.items()}, source)

    def __len__(self) -> int:
        return len(self.entries)

    def translations(self, phrase: str) -> tuple[Translation, ...]:
        """The translations of a phrase as it is spelled; none if it is unknown."""
        return self.entries.get(phrase, ())

    @property
    def longest(self) -> int:
        """The number of words of the longest phrase."""
        return max((phrase.count(" ") + 1 for phrase in self.entries), default=0)

    def coverage(self, sentences: Iterable[Sentence]) -> float:
        """The share of words with letters, outside entities, that the lexicon has, as they are or
        in lower case; 0.0 if there are none.
        """
        n_words = n_known = 0
        for sentence in sentences:
            in_entity = {i for span in sentence.spans or () for i in range(span.start, span.end)}
            for i, word in enumerate(sentence.words):
                if i not in in_entity and any(map(str.isalpha, word)):
                    n_words += 1
                    n_known += word in self.entries or word.lower() in self.entries
        return n_known / n_words if n_words else 0.0

    def with_gaps_filled(self, other: Lexicon) -> Lexicon:
        """A lexicon that also has the phrases that only ``other`` has."""
        return Lexicon({**other.entries, **self.entries}, self.source)


def _ranked(options: Mapping[str, float]) -> tuple[Translation, ...]:
    total = sum(options.values())
    ranked = sorted(options.items(), key=lambda item: -item[1])  # equal ones stay in file order
    return tuple(Translation(tuple(words.split()), weight / total) for words, weight in ranked)


def read_lexicon(path: str | Path) -> Lexicon:
    """Read ``source TAB target [TAB weight]``, an entry per line."""
    rows = table_rows(path, _COLUMNS, n_required=2)
    lexicon = Lexicon.of(
        ((row.fields[0], row.fields[1], parsed_weight(row, 2)) for row in rows), str(path)
    )
    if not lexicon:
        raise DataError(f"{path}: expected entries of a lexicon, found none")
    return lexicon
