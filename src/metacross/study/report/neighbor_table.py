"""A table of the gain by adaptation against the similarity of the neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metacross.metrics.significance import Counts, f1
from metacross.study.plan import fraction_name
from metacross.study.predictions import StoredPredictions
from metacross.study.report.adaptation_tables import both_modes
from metacross.study.report.blocks import (
    MISSING,
    Block,
    Entry,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.number_format import (
    signed,
)
from metacross.study.statistics import ResultsGrid, Seeds


@dataclass(frozen=True, slots=True)
class Quarter:
    """The sentences between two similarities of their neighbors, and the gain in points; None
    where they have no entity, neither found nor there.
    """

    n_sentences: int
    lowest: float
    highest: float
    n_entities: int
    gain: float | None


def neighbors_section(grid: ResultsGrid, stored: StoredPredictions) -> Section:
    """Whether more similar neighbors help more."""
    return Section("neighbors", "Similar neighbors and gain", tuple(_neighbor_blocks(grid, stored)))


def _neighbor_blocks(grid: ResultsGrid, stored: StoredPredictions) -> Iterator[Block]:
    fraction, system = grid.fractions[0], grid.challenger
    if system is None:
        yield Paragraph("No system adapts.")
        return
    rows = []
    for target in grid.targets_in(fraction):
        quarters = quarters_of(stored, both_modes(grid.at(fraction, system, target)))
        for number, quarter in enumerate(quarters, start=1):
            rows.append(Row(f"quarter {number}", _quarter_entries(quarter), group=target))
    if not rows:
        yield Paragraph(f"No predictions of {system} with neighbors were kept.")
        return
    yield Paragraph(
        "What to look for: if it matters how like the neighbors are, the gain grows from the "
        "first quarter to the fourth. Where it does not, far sentences may still be worse than "
        "the nearest: metacross evaluate MODEL FILE --set retrieval.skip_nearest=1000 adapts to those."
    )
    yield Table(
        f"Gain of {system} by adaptation, {fraction_name(fraction)}: the sentences of each target sorted by the "
        "mean similarity of their neighbors and cut in four, the counts summed over seeds. "
        "A quarter has few entities: small differences between quarters mean nothing.",
        ("sentences", "similarity", "number", "gold entities", "adapted - not adapted"),
        tuple(rows),
    )


def _quarter_entries(quarter: Quarter) -> tuple[Entry, ...]:
    return (
        Entry(f"{quarter.lowest:.3f} to {quarter.highest:.3f}"),
        Entry(f"{quarter.n_sentences:,}"),
        Entry(f"{quarter.n_entities:,}"),
        Entry(MISSING if quarter.gain is None else signed(quarter.gain)),
    )


def quarters_of(stored: StoredPredictions, results: Seeds) -> list[Quarter]:
    """A target's sentences by the similarity of their neighbors (its mean over seeds), the least
    similar first; none where predictions or neighbors were not kept, or are too few. Entities are
    those of the corpus, counted once.
    """
    counted = [stored.counted(result) for result in results.values()]
    kept = [own for own in counted if own is not None]
    if not kept or len(kept) < len(counted) or len({len(own.similarities) for own in kept}) > 1:
        return []
    similarities = np.mean([own.similarities for own in kept], axis=0)  # (sentences,)
    plain: Counts = np.sum([own.counts["plain"] for own in kept], axis=0)  # (sentences, 3)
    adapted: Counts = np.sum([own.counts["adapted"] for own in kept], axis=0)
    with_neighbors = np.flatnonzero(~np.isnan(similarities))
    if len(with_neighbors) < 4:
        return []
    order = with_neighbors[np.argsort(similarities[with_neighbors], kind="stable")]
    quarters = []
    for positions in np.array_split(order, 4):
        before, after = plain[positions].sum(axis=0), adapted[positions].sum(axis=0)  # (3,)
        has_entities = bool(before.sum() + after.sum())
        quarters.append(
            Quarter(
                n_sentences=len(positions),
                lowest=float(similarities[positions[0]]),
                highest=float(similarities[positions[-1]]),
                n_entities=int(before[2]) // len(kept),
                gain=100 * float(f1(after) - f1(before)) if has_entities else None,
            )
        )
    return quarters
