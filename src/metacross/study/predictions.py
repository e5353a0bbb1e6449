"""Reads the stored predictions of a study, or only their counts, for each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.metrics.scoring import counts_by_sentence
from metacross.metrics.significance import Comparison, Counts, compare
from metacross.study.packed_counts import unpacked_counts
from metacross.study.plan import fraction_name
from metacross.study.results import Mode, Result, StoredSentence, StudyFolder
from metacross.study.statistics import ResultsBySeed, evaluated_modes
from metacross.text.sentence import Corpus


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """The correct, predicted and gold entities of each sentence, and its neighbors' similarity.

    *Shape:* ``by_mode`` (sentences, 3) each; ``similarities`` (sentences,), the mean over the
    neighbors of a sentence, NaN where it has none or where predictions are not stored.
    """

    by_mode: dict[Mode, Counts]
    similarities: NDArray[np.float64]


class StoredPredictions:
    """The predictions and corpora in a study's folder. Each of them may be missing."""

    def __init__(self, folder: StudyFolder) -> None:
        self._folder = folder
        self._corpora: dict[str, Corpus | None] = {}
        self._sentence_counts: dict[str, SentenceCounts | None] = {}

    def gold(self, result: Result) -> Corpus | None:
        """The target corpus with its gold entities; None where it is not stored."""
        return self._corpus(result.digests.get("target corpus"))

    def source(self, result: Result) -> Corpus | None:
        """The source corpus, which the neighbors are from; None where it is not stored."""
        return self._corpus(result.digests.get("source corpus"))

    def sentences(self, result: Result) -> list[StoredSentence] | None:
        """The predictions for each sentence of the target corpus; None where they or the corpus
        are not stored.
        """
        gold, predictions = self.gold(result), self._folder.sentences(result)
        if gold is None or predictions is None:
            return None
        if len(gold) != len(predictions):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {result.system} "
                f"(seed {result.seed}) for {len(gold):,} sentences of {result.target}, "
                f"found {len(predictions):,}; {self._remedy}"
            )
        return predictions

    def sentence_counts(self, result: Result) -> SentenceCounts | None:
        """The counts of each sentence, from the predictions or else from the result; None where
        neither has them.
        """
        if result.key not in self._sentence_counts:
            self._sentence_counts[result.key] = self._count(result)
        return self._sentence_counts[result.key]

    def has_any(self, results: Iterable[Result]) -> bool:
        """Whether the counts of each sentence are known for at least one result."""
        return any(self.sentence_counts(result) is not None for result in results)

    def has_any_sentences(self, results: Iterable[Result]) -> bool:
        """Whether the predictions of at least one result are stored, not only their counts."""
        return any(self.sentences(result) is not None for result in results)

    def _count(self, result: Result) -> SentenceCounts | None:
        gold, sentences = self.gold(result), self.sentences(result)
        if gold is None or sentences is None:
            return self._counts_in(result)
        by_mode: dict[Mode, Counts] = {
            mode: counts_by_sentence(gold, _predicted(gold, sentences, mode))
            for mode in evaluated_modes(result)
        }
        for mode, counts in by_mode.items():
            self._check_agreement(result, mode, counts)
        similarities = [_mean_similarity(sentence) for sentence in sentences]
        return SentenceCounts(by_mode, np.array(similarities))

    def _counts_in(self, result: Result) -> SentenceCounts | None:
        """The counts that are stored in the result itself."""
        if not result.sentence_counts:
            return None
        try:
            by_mode = {
                mode: unpacked_counts(packed) for mode, packed in result.sentence_counts.items()
            }
        except ValueError as problem:
            raise DataError(
                f"{self._folder.results_file}: sentence_counts of {result.system} "
                f"(seed {result.seed}, {result.target}) {problem}; run the study again"
            ) from None
        n_sentences = len(next(iter(by_mode.values())))
        return SentenceCounts(by_mode, np.full(n_sentences, np.nan))

    def _check_agreement(self, result: Result, mode: Mode, counts: Counts) -> None:
        """Stored predictions must have the scores of the result that they belong to."""
        score = result.score(mode)
        correct, predicted, gold = map(int, counts.sum(axis=0))
        if (correct, predicted, gold) != (score.correct, score.predicted, score.gold):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {result.system} "
                f"(seed {result.seed}, {result.target}, {fraction_name(result.fraction)}, {mode}) "
                f"with {score.correct:,} correct of {score.predicted:,} predicted and "
                f"{score.gold:,} gold entities, found {correct:,} of {predicted:,} and {gold:,}; "
                f"{self._remedy}"
            )

    @property
    def _remedy(self) -> str:
        return f"delete {self._folder.folder / 'predictions'} to go on without predictions"

    def _corpus(self, digest: str | None) -> Corpus | None:
        if digest is None:
            return None
        if digest not in self._corpora:
            self._corpora[digest] = self._folder.corpus(digest)
        return self._corpora[digest]


def compare_systems(
    stored: StoredPredictions, results: ResultsBySeed, baseline: ResultsBySeed
) -> Comparison | None:
    """Test a system against the baseline on a target, both in their reported modes.

    The counts of each sentence are summed over the seeds that both have. None where they share no
    seed, were evaluated on different corpora, or some predictions are not stored.
    """
    shared_seeds = sorted({*results} & {*baseline})
    system_results = [results[seed] for seed in shared_seeds]
    baseline_results = [baseline[seed] for seed in shared_seeds]
    if not _on_one_corpus([*system_results, *baseline_results]):
        return None
    system_counts = summed(stored, system_results)
    baseline_counts = summed(stored, baseline_results)
    if system_counts is None or baseline_counts is None:
        return None
    return compare(system_counts, baseline_counts)


def compare_modes(stored: StoredPredictions, results: ResultsBySeed) -> Comparison | None:
    """Test a system on a target with adaptation against the same without, over all seeds; None
    where some predictions are not stored.
    """
    if not _on_one_corpus(list(results.values())):
        return None
    adapted = summed(stored, list(results.values()), "adapted")
    plain = summed(stored, list(results.values()), "plain")
    return None if adapted is None or plain is None else compare(adapted, plain)


def summed(
    stored: StoredPredictions, results: Sequence[Result], mode: Mode | None = None
) -> Counts | None:
    """The counts of each sentence, summed over results on the same corpus. *Shape:* (sentences, 3).

    ``mode`` None means the reported mode. The sum is None where some predictions are not stored.
    """
    total: Counts | None = None
    for result in results:
        sentence_counts = stored.sentence_counts(result)
        if sentence_counts is None:
            return None
        counts = sentence_counts.by_mode[mode or result.reported_mode]  # (sentences, 3)
        total = counts if total is None else total + counts
    return total


def _on_one_corpus(results: Sequence[Result]) -> bool:
    return len({result.digests.get("target corpus") for result in results}) == 1


def _predicted(gold: Corpus, predictions: list[StoredSentence], mode: Mode) -> Corpus:
    pairs = zip(gold, predictions, strict=True)
    return Corpus(
        tuple(replace(sentence, spans=prediction.spans[mode]) for sentence, prediction in pairs)
    )


def _mean_similarity(sentence: StoredSentence) -> float:
    similarities = [similarity for _, similarity in sentence.neighbors]
    return float(np.mean(similarities)) if similarities else np.nan
