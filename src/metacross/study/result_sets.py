"""Compares two sets of results, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metacross.errors import DataError
from metacross.study.results import Cell, LabelledSentence, StudyFolder
from metacross.study.significance import Comparison, Counts, compare
from metacross.text.sentences import Corpus


@dataclass(frozen=True, slots=True)
class Pair:
    """The same system and target in two sets, means over the seeds that both have.

    ``comparison`` (theirs against ours) is None where the predictions of one were not kept.
    """

    system: str
    target: str
    setting: str
    n_seeds: int
    ours: float
    theirs: float
    comparison: Comparison | None


def paired(ours: StudyFolder, theirs: StudyFolder) -> list[Pair]:
    """All that both sets have."""
    first, second = _by_place(ours.cells()), _by_place(theirs.cells())
    pairs = []
    for place in first:
        seeds = sorted(first[place].keys() & second.get(place, {}).keys())
        if seeds:
            cells = [(first[place][seed], second[place][seed]) for seed in seeds]
            pairs.append(_pair(cells, ours, theirs))
    if not pairs:
        raise DataError(
            f"{theirs.folder}: expected results of a system, target and seed that "
            f"{ours.folder} has too, found none"
        )
    return pairs


def summed_counts(folder: StudyFolder, cells: Sequence[Cell]) -> Counts | None:
    """Counts of each sentence of a target, summed over cells of different seeds; None where the
    predictions were not kept. *Shape:* (sentences, 3).
    """
    total: Counts | None = None
    for cell in cells:
        corpus, sentences = folder.corpus(cell.digests["target corpus"]), folder.sentences(cell)
        if corpus is None or sentences is None:
            return None
        counts = headline_counts(cell, corpus, sentences)
        total = counts if total is None else total + counts
    return total


def headline_counts(cell: Cell, corpus: Corpus, sentences: Sequence[LabelledSentence]) -> Counts:
    """Right, found and gold entities of each sentence. *Shape:* (sentences, 3)."""
    rows = []
    for gold, own in zip(corpus, sentences, strict=True):
        wanted, found = {*(gold.spans or ())}, {*own.spans[cell.headline]}
        rows.append((len(wanted & found), len(found), len(wanted)))
    return np.array(rows, dtype=np.int64)


def _pair(cells: Sequence[tuple[Cell, Cell]], ours: StudyFolder, theirs: StudyFolder) -> Pair:
    first, second = [a for a, _ in cells], [b for _, b in cells]
    counts = summed_counts(ours, first), summed_counts(theirs, second)
    comparison = None
    if counts[0] is not None and counts[1] is not None:
        comparison = compare(counts[1], counts[0])
    return Pair(
        system=first[0].system,
        target=first[0].target,
        setting=first[0].setting,
        n_seeds=len(cells),
        ours=sum(cell.f1 for cell in first) / len(cells),
        theirs=sum(cell.f1 for cell in second) / len(cells),
        comparison=comparison,
    )


def _by_place(cells: Sequence[Cell]) -> dict[tuple[str, str, str], dict[int, Cell]]:
    found: dict[tuple[str, str, str], dict[int, Cell]] = {}
    for cell in cells:
        found.setdefault((cell.system, cell.target, cell.setting), {})[cell.seed] = cell
    return found
