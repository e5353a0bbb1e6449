"""Counts entities in the stored predictions of a study, and compares systems by these counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.metrics.scoring import counts_by_sentence
from metacross.metrics.significance import Comparison, Counts, compare
from metacross.study.plan import fraction_name
from metacross.study.results import Mode, Result, SentencePredictions, StudyFolder
from metacross.study.statistics import Seeds
from metacross.text.sentence import Corpus


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """The counts of a result, sentence by sentence.

    *Shape:* ``counts`` of a mode (sentences, 3); ``similarities`` (sentences,): the mean similarity
    of each sentence's neighbors, NaN where it has none.
    """

    counts: dict[Mode, Counts]
    similarities: NDArray[np.float64]


class StoredPredictions:
    """The predictions and corpora of a study, as far as they were stored."""

    def __init__(self, folder: StudyFolder) -> None:
        self._folder = folder
        self._corpora: dict[str, Corpus | None] = {}
        self._counts: dict[str, SentenceCounts | None] = {}

    def gold(self, result: Result) -> Corpus | None:
        """The labeled target corpus; None: it was not stored."""
        return self._corpus(result.digests.get("target corpus"))

    def source(self, result: Result) -> Corpus | None:
        """The source corpus, which the neighbors come from; None: it was not stored."""
        return self._corpus(result.digests.get("source corpus"))

    def sentences(self, result: Result) -> list[SentencePredictions] | None:
        """The predictions for each sentence of the target corpus; None: they or the corpus were not
        stored.
        """
        gold, sentences = self.gold(result), self._folder.sentences(result)
        if gold is None or sentences is None:
            return None
        if len(gold) != len(sentences):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {result.system}, seed "
                f"{result.seed}, for {len(gold):,} sentences of {result.target}, found "
                f"{len(sentences):,}"
            )
        return sentences

    def counted(self, result: Result) -> SentenceCounts | None:
        """The counts sentence by sentence; None: the predictions or the corpus were not stored."""
        if result.key not in self._counts:
            self._counts[result.key] = self._count(result)
        return self._counts[result.key]

    def keeps_any(self, results: Iterable[Result]) -> bool:
        """Whether predictions of any of these results are stored."""
        return any(self.counted(result) is not None for result in results)

    def _count(self, result: Result) -> SentenceCounts | None:
        gold, sentences = self.gold(result), self.sentences(result)
        if gold is None or sentences is None:
            return None
        counts: dict[Mode, Counts] = {
            mode: counts_by_sentence(gold, _predicted(gold, sentences, mode))
            for mode in result.counts
        }
        for mode, mode_counts in counts.items():
            self._check_agreement(result, mode, mode_counts)
        similarities = [
            float(np.mean([similarity for _, similarity in sentence.neighbors]))
            if sentence.neighbors
            else np.nan
            for sentence in sentences
        ]
        return SentenceCounts(counts, np.array(similarities))

    def _check_agreement(self, result: Result, mode: Mode, counts: Counts) -> None:
        """Refuse predictions whose counts differ from those of the result."""
        score = result.score(mode)
        correct, n_predicted, n_gold = map(int, counts.sum(axis=0))
        if (correct, n_predicted, n_gold) != (score.correct, score.predicted, score.gold):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {result.system} (seed "
                f"{result.seed}, {result.target}, {fraction_name(result.fraction)}, {mode}) with "
                f"{score.correct:,} of {score.gold:,} entities correct, found {correct:,} of "
                f"{n_gold:,}"
            )

    def _corpus(self, digest: str | None) -> Corpus | None:
        if digest is None:
            return None
        if digest not in self._corpora:
            self._corpora[digest] = self._folder.corpus(digest)
        return self._corpora[digest]


def compared_systems(stored: StoredPredictions, ours: Seeds, theirs: Seeds) -> Comparison | None:
    """Compare two systems on a target in their reported modes, over the seeds that both have: the
    counts of a sentence are summed over seeds. None: there are no such seeds, the corpora differ,
    or predictions are missing.
    """
    shared = sorted({*ours} & {*theirs})
    corpora = {
        results[seed].digests.get("target corpus") for results in (ours, theirs) for seed in shared
    }
    if len(corpora) != 1:
        return None
    our_counts = summed(stored, [ours[seed] for seed in shared])
    their_counts = summed(stored, [theirs[seed] for seed in shared])
    if our_counts is None or their_counts is None:
        return None
    return compare(our_counts, their_counts)


def compared_modes(stored: StoredPredictions, results: Seeds) -> Comparison | None:
    """Compare a system on a target adapted against not adapted, over all seeds; None: predictions
    are missing.
    """
    if len({result.digests.get("target corpus") for result in results.values()}) != 1:
        return None
    adapted = summed(stored, list(results.values()), "adapted")
    plain = summed(stored, list(results.values()), "plain")
    return None if adapted is None or plain is None else compare(adapted, plain)


def summed(
    stored: StoredPredictions, results: list[Result], mode: Mode | None = None
) -> Counts | None:
    """The counts of each sentence, summed over results on the same corpus; None: predictions are
    missing. ``mode`` None: the reported mode of each result. *Shape:* (sentences, 3).
    """
    total: Counts | None = None
    for result in results:
        sentence_counts = stored.counted(result)
        if sentence_counts is None:
            return None
        counts = sentence_counts.counts[mode or result.reported_mode]
        total = counts if total is None else total + counts
    return total


def _predicted(gold: Corpus, predictions: list[SentencePredictions], mode: Mode) -> Corpus:
    pairs = zip(gold, predictions, strict=True)
    return Corpus(
        tuple(replace(sentence, spans=prediction.spans[mode]) for sentence, prediction in pairs)
    )
