"""Features of words for a linear CRF: shapes, affixes, clusters and gazetteer types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from metacross.text.gazetteer import Gazetteer
from metacross.text.word_clusters import WordClusters

_AFFIXES = (1, 2, 3, 4)
_NEAR = (-1, 0, 1)
_FAR = (-2, -1, 0, 1, 2)


@dataclass(frozen=True, slots=True)
class WordFeatures:
    """Which features words have; see :class:`metacross.settings.CrfSettings`.

    ``clusters`` may have several granularities. Shapes and capitals are always features.
    """

    words: bool = True
    affixes: bool = True
    clusters: tuple[WordClusters, ...] = field(default=(), repr=False)
    gazetteer: Gazetteer | None = field(default=None, repr=False)

    def of(self, words: Sequence[str]) -> list[list[str]]:
        """The features of each word of a sentence."""
        shapes = [word_shape(word) for word in words]
        features = [self._own_features(word, i) for i, word in enumerate(words)]
        _add_context(features, shapes, _FAR, "shape")
        if self.words:
            _add_context(features, [word.lower() for word in words], _FAR, "word")
        for number, clusters in enumerate(self.clusters):
            self._add_clusters(features, words, shapes, clusters, str(number))
        if self.gazetteer is not None:
            _add_context(features, self._types(words), _NEAR, "type")
        return features

    def _own_features(self, word: str, position: int) -> list[str]:
        features = ["bias"]
        if position == 0:
            features.append("first")
        if any(map(str.isdigit, word)):
            features.append("digit")
        if "-" in word[1:-1]:
            features.append("hyphen")
        if not any(map(str.isalnum, word)):
            features.append("mark")
        if self.affixes:
            lowered = word.lower()
            for length in _AFFIXES:
                if len(lowered) > length:
                    features += [f"prefix={lowered[:length]}", f"suffix={lowered[-length:]}"]
        return features

    def _add_clusters(
        self,
        features: list[list[str]],
        words: Sequence[str],
        shapes: Sequence[str],
        clusters: WordClusters,
        name: str,
    ) -> None:
        ids = [clusters.cluster(word) or "none" for word in words]
        _add_context(features, ids, _FAR, f"cluster{name}")
        pairs = [f"{a}|{b}" for a, b in zip(ids, [*ids[1:], "end"], strict=True)]
        _add_context(features, pairs, (-1, 0), f"clusters{name}")
        for own, id_, shape in zip(features, ids, shapes, strict=True):
            own.append(f"cluster{name}+shape={id_}|{shape}")

    def _types(self, words: Sequence[str]) -> list[str]:
        """The gazetteer types of each word: of the longest name that covers it, with its place."""
        types: list[dict[str, None]] = [{} for _ in words]
        longest = [0] * len(words)
        for span in self.gazetteer.matches(words) if self.gazetteer else ():
            length = span.end - span.start
            for i in range(span.start, span.end):
                if length < longest[i]:
                    continue
                if length > longest[i]:
                    types[i], longest[i] = {}, length
                types[i]["B-" * (i == span.start) + "I-" * (i > span.start) + span.label] = None
        return ["+".join(sorted(found)) or "none" for found in types]


def _add_context(
    features: list[list[str]], values: Sequence[str], offsets: Sequence[int], name: str
) -> None:
    """Add the values of the words at some offsets to the features of each word."""
    for position, own in enumerate(features):
        for offset in offsets:
            place = position + offset
            value = values[place] if 0 <= place < len(values) else "outside"
            own.append(f"{name}[{offset}]={value}")


@lru_cache(maxsize=65_536)
def word_shape(word: str) -> str:
    """Which kinds of characters a word has, runs shortened.

    >>> word_shape("Madrid"), word_shape("EU"), word_shape("10-year"), word_shape("北京")
    ('Xx', 'XX', 'd-x', 'cc')
    """
    kinds = "".join(map(_kind, word))
    return re.sub(r"(.)\1+", lambda run: run[1] * (2 if run[1] in "Xc" else 1), kinds)


def _kind(character: str) -> str:
    if character.isupper():
        return "X"
    if character.islower():
        return "x"
    if character.isdigit():
        return "d"
    return "c" if character.isalpha() else character
