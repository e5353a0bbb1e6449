"""Counts entities in the predictions that a study kept, and compares systems by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.metrics.scoring import counts_by_sentence
from metacross.metrics.significance import Comparison, Counts, compare
from metacross.study.results import Mode, Result, SentencePredictions, StudyFolder
from metacross.study.statistics import Seeds
from metacross.text.sentence import Corpus


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """A result sentence by sentence.

    *Shape:* ``counts`` of a mode (sentences, 3); ``similarities`` (sentences,), the mean over
    the neighbors of each, not a number where it has none.
    """

    counts: dict[Mode, Counts]
    similarities: NDArray[np.float64]


class StoredPredictions:
    """The predictions and corpora of a study, as far as they were kept."""

    def __init__(self, folder: StudyFolder) -> None:
        self._folder = folder
        self._corpora: dict[str, Corpus | None] = {}
        self._counted: dict[str, SentenceCounts | None] = {}

    def gold(self, result: Result) -> Corpus | None:
        """The target corpus with its own entities; None where it was not kept."""
        return self._corpus(result.digests.get("target corpus"))

    def source(self, result: Result) -> Corpus | None:
        """The corpus that the neighbors come from; None where it was not kept."""
        return self._corpus(result.digests.get("source corpus"))

    def sentences(self, result: Result) -> list[SentencePredictions] | None:
        """What was found in each sentence of the target corpus; None where that or the corpus was
        not kept.
        """
        gold, found = self.gold(result), self._folder.sentences(result)
        if gold is None or found is None:
            return None
        if len(gold) != len(found):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {result.system} (seed {result.seed}) "
                f"for {len(gold):,} sentences of {result.target}, found {len(found):,}"
            )
        return found

    def counted(self, result: Result) -> SentenceCounts | None:
        """A result sentence by sentence; None where predictions or corpus were not kept."""
        if result.key not in self._counted:
            self._counted[result.key] = self._count(result)
        return self._counted[result.key]

    def keeps_any(self, results: Iterable[Result]) -> bool:
        """Whether there are predictions to look into."""
        return any(self.counted(result) is not None for result in results)

    def _count(self, result: Result) -> SentenceCounts | None:
        gold, sentences = self.gold(result), self.sentences(result)
        if gold is None or sentences is None:
            return None
        counts: dict[Mode, Counts] = {
            mode: counts_by_sentence(gold, _predicted(gold, sentences, mode))
            for mode in result.modes
        }
        for mode, own in counts.items():
            self._check_agreement(result, mode, own)
        similarities = [
            float(np.mean([similarity for _, similarity in sentence.neighbors]))
            if sentence.neighbors
            else np.nan
            for sentence in sentences
        ]
        return SentenceCounts(counts, np.array(similarities))

    def _check_agreement(self, result: Result, mode: Mode, counts: Counts) -> None:
        """The tables and what rests on predictions must not speak of different things."""
        scored = result.score(mode)
        found = tuple(map(int, counts.sum(axis=0)))
        if found != (scored.correct, scored.predicted, scored.gold):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {result.system} (seed {result.seed}, "
                f"{result.target}, {result.fraction}, {mode}) with {scored.correct:,} of "
                f"{scored.gold:,} entities right, found {found[0]:,} of {found[2]:,}"
            )

    def _corpus(self, digest: str | None) -> Corpus | None:
        if digest is None:
            return None
        if digest not in self._corpora:
            self._corpora[digest] = self._folder.corpus(digest)
        return self._corpora[digest]


def compared_systems(stored: StoredPredictions, ours: Seeds, theirs: Seeds) -> Comparison | None:
    """Two systems on a target by the modes that the tables show, over the seeds that both have:
    the counts of a sentence are summed over them. None where there are none, where the corpora are
    not the same, or where not all predictions were kept.
    """
    shared = sorted({*ours} & {*theirs})
    corpora = {
        results[seed].digests.get("target corpus") for results in (ours, theirs) for seed in shared
    }
    if len(corpora) != 1:
        return None
    own = summed(stored, [ours[seed] for seed in shared])
    other = summed(stored, [theirs[seed] for seed in shared])
    return None if own is None or other is None else compare(own, other)


def compared_modes(stored: StoredPredictions, results: Seeds) -> Comparison | None:
    """A system on a target adapted against not adapted, over all seeds; None where not all
    predictions were kept.
    """
    if len({result.digests.get("target corpus") for result in results.values()}) != 1:
        return None
    adapted = summed(stored, list(results.values()), "adapted")
    plain = summed(stored, list(results.values()), "plain")
    return None if adapted is None or plain is None else compare(adapted, plain)


def summed(
    stored: StoredPredictions, results: list[Result], mode: Mode | None = None
) -> Counts | None:
    """Counts of each sentence, summed over results of the same corpus; None where not all predictions
    were kept. ``mode`` None is the one that the tables show. *Shape:* (sentences, 3).
    """
    total: Counts | None = None
    for result in results:
        counted = stored.counted(result)
        if counted is None:
            return None
        own = counted.counts[mode or result.reported_mode]
        total = own if total is None else total + own
    return total


def _predicted(gold: Corpus, found: list[SentencePredictions], mode: Mode) -> Corpus:
    pairs = zip(gold, found, strict=True)
    return Corpus(tuple(replace(sentence, spans=own.spans[mode]) for sentence, own in pairs))
