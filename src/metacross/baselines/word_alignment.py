"""Aligns the words of parallel text: IBM model 1 with a prior for the diagonal, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacross.text.lexicon import Lexicon
from metacross.text.parallel_text import Links, SentencePair

_NULL = 0  # the source word of target words that translate nothing
_NULL_PROBABILITY = 0.08
_DIAGONAL = 4.0  # how fast the prior falls with the distance from the diagonal
_SMOOTHING = 0.01  # added to the counts of word pairs
_NEIGHBORS = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


def align(
    pairs: Sequence[SentencePair], *, lexicon: Lexicon | None = None, iterations: int = 5
) -> list[Links]:
    """The links of each pair: those that both directions agree on, grown by neighboring links of
    either direction (grow-diag).

    Entries of the lexicon are learned from as further pairs.
    """
    numbered = _NumberedPairs.of(pairs, lexicon)
    forward = _best_sources(numbered, iterations)
    backward = _best_sources(numbered.swapped(), iterations)
    return [
        _grown(
            {(int(i), j) for j, i in enumerate(ahead) if i >= 0},
            {(i, int(j)) for i, j in enumerate(back) if j >= 0},
        )
        for ahead, back in zip(forward[: len(pairs)], backward[: len(pairs)], strict=True)
    ]


def learned_lexicon(
    pairs: Sequence[SentencePair],
    alignments: Sequence[Links],
    *,
    min_count: int = 2,
    min_share: float = 0.2,
) -> Lexicon:
    """A lexicon of words, in lower case, from aligned text. Left out are translations that were
    seen less than ``min_count`` times, or in less than ``min_share`` of the word's links.
    """
    counts: dict[str, dict[str, int]] = {}
    for pair, links in zip(pairs, alignments, strict=True):
        for i, j in links:
            options = counts.setdefault(pair.source.words[i].lower(), {})
            target = pair.target.words[j].lower()
            options[target] = options.get(target, 0) + 1
    return Lexicon.of(
        (
            (word, translation, float(count))
            for word, options in counts.items()
            for translation, count in options.items()
            if count >= min_count and count >= min_share * sum(options.values())
        ),
        "lexicon of the parallel text",
    )


@dataclass(frozen=True, slots=True)
class _NumberedPairs:
    """Pairs of sentences as numbers of words; 0 is kept for the null word."""

    sources: list[_Ints]
    targets: list[_Ints]
    n_source_words: int
    n_target_words: int

    @classmethod
    def of(cls, pairs: Sequence[SentencePair], lexicon: Lexicon | None) -> _NumberedPairs:
        source_numbers: dict[str, int] = {}
        target_numbers: dict[str, int] = {}
        texts = [(pair.source.words, pair.target.words) for pair in pairs]
        for phrase, translations in (lexicon.entries if lexicon else {}).items():
            texts += [(tuple(phrase.split()), translation.words) for translation in translations]
        return cls(
            [_numbers(source, source_numbers) for source, _ in texts],
            [_numbers(target, target_numbers) for _, target in texts],
            len(source_numbers) + 1,
            len(target_numbers) + 1,
        )

    def swapped(self) -> _NumberedPairs:
        return _NumberedPairs(self.targets, self.sources, self.n_target_words, self.n_source_words)


def _numbers(words: Sequence[str], numbers: dict[str, int]) -> _Ints:
    return np.array(
        [numbers.setdefault(word.lower(), len(numbers) + 1) for word in words], dtype=np.int64
    )


def _best_sources(pairs: _NumberedPairs, iterations: int) -> list[_Ints]:
    """For each target word of each pair the position of the source word that it most probably
    translates; -1 for none.
    """
    candidates = _Candidates.of(pairs)
    flat = np.ones_like(candidates.prior)
    posterior = candidates.posterior(np.ones(candidates.n_word_pairs), flat)
    for iteration in range(iterations):
        seen = np.bincount(candidates.word_pair, posterior, minlength=candidates.n_word_pairs)
        counts = seen + _SMOOTHING
        totals = np.bincount(candidates.source_of_pair, counts, minlength=pairs.n_source_words)
        table = counts / totals[candidates.source_of_pair]
        is_early = iteration < iterations // 2  # which words go together is learned first
        posterior = candidates.posterior(table, flat if is_early else candidates.prior)
    best = candidates.best(posterior)
    ends = np.cumsum([len(target) for target in pairs.targets])
    return np.split(best, ends[:-1])


@dataclass(frozen=True, slots=True)
class _Candidates:
    """All source words that each target word could translate, as one list.

    *Shape:* all (candidates,) but ``source_of_pair`` (word pairs,) and ``starts`` (target words,),
    which says where the candidates of a target word begin; the null word is the first of them.
    """

    word_pair: _Ints
    prior: _Floats
    starts: _Ints
    source_of_pair: _Ints

    @property
    def n_word_pairs(self) -> int:
        return len(self.source_of_pair)

    @classmethod
    def of(cls, pairs: _NumberedPairs) -> _Candidates:
        keys, priors, sizes = [], [], []
        for source, target in zip(pairs.sources, pairs.targets, strict=True):
            n_source, n_target = len(source), len(target)
            with_null = np.concatenate([[_NULL], source])
            keys.append((with_null[None, :] * pairs.n_target_words + target[:, None]).ravel())
            priors.append(_prior(n_source, n_target).ravel())
            sizes.append(np.full(n_target, n_source + 1))
        distinct, word_pair = np.unique(np.concatenate(keys), return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))[:-1]])
        return cls(
            word_pair.astype(np.int64),
            np.concatenate(priors),
            starts.astype(np.int64),
            distinct // pairs.n_target_words,
        )

    def posterior(self, table: _Floats, prior: _Floats) -> _Floats:
        """The probability of each candidate, given the target word."""
        joint = prior * table[self.word_pair]
        totals = np.add.reduceat(joint, self.starts)
        sizes = np.diff(np.append(self.starts, len(joint)))
        shares: _Floats = joint / np.repeat(totals, sizes)
        return shares

    def best(self, posterior: _Floats) -> _Ints:
        """The position of each target word's best source word; -1 for the null word."""
        highest = np.maximum.reduceat(posterior, self.starts)
        sizes = np.diff(np.append(self.starts, len(posterior)))
        is_best = posterior >= np.repeat(highest, sizes)
        places = np.where(is_best, np.arange(len(posterior)), len(posterior))
        return np.minimum.reduceat(places, self.starts) - self.starts - 1


def _prior(n_source: int, n_target: int) -> _Floats:
    """How probable each source position is for each target position, the null word first.
    *Shape:* (target words, source words + 1).
    """
    source, target = (np.arange(n) / max(1, n) for n in (n_source, n_target))
    near = np.exp(-_DIAGONAL * np.abs(source[None, :] - target[:, None]))
    near *= (1 - _NULL_PROBABILITY) / near.sum(axis=1, keepdims=True)
    return np.concatenate([np.full((n_target, 1), _NULL_PROBABILITY), near], axis=1)


def _grown(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> Links:
    """The links of both directions, and links of one of them that are next to a link and that give
    a word its first link.
    """
    links, union = forward & backward, forward | backward
    aligned_sources, aligned_targets = {i for i, _ in links}, {j for _, j in links}
    waiting = sorted(links)
    while waiting:
        i, j = waiting.pop(0)
        for down, right in _NEIGHBORS:
            link = (i + down, j + right)
            is_new = link[0] not in aligned_sources or link[1] not in aligned_targets
            if link in union and link not in links and is_new:
                links.add(link)
                waiting.append(link)
                aligned_sources.add(link[0])
                aligned_targets.add(link[1])
    return frozenset(links)
