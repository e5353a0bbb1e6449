"""Counts entities in the predictions that a study kept, and compares systems by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metacross.errors import DataError
from metacross.metrics.scoring import counts_by_sentence
from metacross.metrics.significance import Comparison, Counts, compare
from metacross.study.results import Cell, LabelledSentence, Reading, StudyFolder
from metacross.study.statistics import Seeds
from metacross.text.sentence import Corpus


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """A cell sentence by sentence.

    *Shape:* ``counts`` of a reading (sentences, 3); ``similarities`` (sentences,), the mean over
    the neighbours of each, not a number where it has none.
    """

    counts: dict[Reading, Counts]
    similarities: NDArray[np.float64]


class Evidence:
    """The predictions and corpora of a study, as far as they were kept."""

    def __init__(self, folder: StudyFolder) -> None:
        self._folder = folder
        self._corpora: dict[str, Corpus | None] = {}
        self._counted: dict[str, SentenceCounts | None] = {}

    def gold(self, cell: Cell) -> Corpus | None:
        """The target corpus with its own entities; None where it was not kept."""
        return self._corpus(cell.digests.get("target corpus"))

    def source(self, cell: Cell) -> Corpus | None:
        """The corpus that the neighbours come from; None where it was not kept."""
        return self._corpus(cell.digests.get("source corpus"))

    def sentences(self, cell: Cell) -> list[LabelledSentence] | None:
        """What was found in each sentence of the target corpus; None where that or the corpus was
        not kept.
        """
        gold, found = self.gold(cell), self._folder.sentences(cell)
        if gold is None or found is None:
            return None
        if len(gold) != len(found):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {cell.system} (seed {cell.seed}) "
                f"for {len(gold):,} sentences of {cell.target}, found {len(found):,}"
            )
        return found

    def counted(self, cell: Cell) -> SentenceCounts | None:
        """A cell sentence by sentence; None where predictions or corpus were not kept."""
        if cell.key not in self._counted:
            self._counted[cell.key] = self._count(cell)
        return self._counted[cell.key]

    def keeps_any(self, cells: Iterable[Cell]) -> bool:
        """Whether there are predictions to look into."""
        return any(self.counted(cell) is not None for cell in cells)

    def _count(self, cell: Cell) -> SentenceCounts | None:
        gold, sentences = self.gold(cell), self.sentences(cell)
        if gold is None or sentences is None:
            return None
        counts: dict[Reading, Counts] = {
            reading: counts_by_sentence(gold, _predicted(gold, sentences, reading))
            for reading in cell.readings
        }
        for reading, own in counts.items():
            self._check_agreement(cell, reading, own)
        similarities = [
            float(np.mean([similarity for _, similarity in sentence.neighbours]))
            if sentence.neighbours
            else np.nan
            for sentence in sentences
        ]
        return SentenceCounts(counts, np.array(similarities))

    def _check_agreement(self, cell: Cell, reading: Reading, counts: Counts) -> None:
        """The tables and what rests on predictions must not speak of different things."""
        scored = cell.score(reading)
        found = tuple(map(int, counts.sum(axis=0)))
        if found != (scored.correct, scored.predicted, scored.gold):
            raise DataError(
                f"{self._folder.folder}: expected predictions of {cell.system} (seed {cell.seed}, "
                f"{cell.target}, {cell.setting}, {reading}) with {scored.correct:,} of "
                f"{scored.gold:,} entities right, found {found[0]:,} of {found[2]:,}"
            )

    def _corpus(self, digest: str | None) -> Corpus | None:
        if digest is None:
            return None
        if digest not in self._corpora:
            self._corpora[digest] = self._folder.corpus(digest)
        return self._corpora[digest]


def compared_systems(evidence: Evidence, ours: Seeds, theirs: Seeds) -> Comparison | None:
    """Two systems on a target by the readings that the tables show, over the seeds that both have:
    the counts of a sentence are summed over them. None where there are none, where the corpora are
    not the same, or where not all predictions were kept.
    """
    shared = sorted({*ours} & {*theirs})
    corpora = {
        cells[seed].digests.get("target corpus") for cells in (ours, theirs) for seed in shared
    }
    if len(corpora) != 1:
        return None
    own = summed(evidence, [ours[seed] for seed in shared])
    other = summed(evidence, [theirs[seed] for seed in shared])
    return None if own is None or other is None else compare(own, other)


def compared_readings(evidence: Evidence, cells: Seeds) -> Comparison | None:
    """A system on a target adapted against not adapted, over all seeds; None where not all
    predictions were kept.
    """
    if len({cell.digests.get("target corpus") for cell in cells.values()}) != 1:
        return None
    adapted = summed(evidence, list(cells.values()), "adapted")
    plain = summed(evidence, list(cells.values()), "plain")
    return None if adapted is None or plain is None else compare(adapted, plain)


def summed(evidence: Evidence, cells: list[Cell], reading: Reading | None = None) -> Counts | None:
    """Counts of each sentence, summed over cells of the same corpus; None where not all predictions
    were kept. ``reading`` None is the one that the tables show. *Shape:* (sentences, 3).
    """
    total: Counts | None = None
    for cell in cells:
        counted = evidence.counted(cell)
        if counted is None:
            return None
        own = counted.counts[reading or cell.headline]
        total = own if total is None else total + own
    return total


def _predicted(gold: Corpus, found: list[LabelledSentence], reading: Reading) -> Corpus:
    pairs = zip(gold, found, strict=True)
    return Corpus(tuple(replace(sentence, spans=own.spans[reading]) for sentence, own in pairs))
