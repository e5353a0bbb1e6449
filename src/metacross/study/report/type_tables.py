"""Tables of F1 by entity type."""

from __future__ import annotations

import statistics

from metacross.metrics.scoring import Score
from metacross.study.report.blocks import MISSING, Entry, Row, Section, Table
from metacross.study.report.number_format import points_entry
from metacross.study.results import Cell
from metacross.study.statistics import ResultsGrid, Seeds


def types_section(grid: ResultsGrid) -> Section:
    """Systems by types on each target, in every setting."""
    return Section(
        "types", "By entity type", tuple(_types_table(grid, setting) for setting in grid.settings)
    )


def _types_table(grid: ResultsGrid, setting: str) -> Table:
    in_setting = [cell for cell in grid.cells if cell.setting == setting]
    types = list(dict.fromkeys(label for cell in in_setting for label in cell.types))
    rows: list[Row] = []
    for target in grid.targets_in(setting):
        places = {system: grid.at(setting, system, target) for system in grid.systems(setting)}
        for system, cells in places.items():
            entries = tuple(points_entry(mean_type_f1(cells, label)) for label in types)
            rows.append(Row(system, entries, group=target))
        any_cell = next(cell for cells in places.values() for cell in cells.values())
        gold = tuple(_gold_entry(any_cell, label) for label in types)
        rows.append(Row("gold entities", gold, group=target, quiet=True))
    return Table(
        f"F1 in points by entity type, {setting}: mean over seeds. A dash: the system was not "
        "trained on this type, or it is neither there nor found.",
        ("system", *types),
        tuple(rows),
    )


def mean_type_f1(cells: Seeds, label: str) -> float | None:
    """In points, over the seeds in which the type is there or was found; None where in none."""
    scores = [_type_score(cell, label) for cell in cells.values()]
    f1s = [score.f1 for score in scores if score.predicted + score.gold]
    return 100 * statistics.fmean(f1s) if f1s else None


def _type_score(cell: Cell, label: str) -> Score:
    counts = cell.readings[cell.headline].get(label)
    return Score(counts.correct, counts.predicted, counts.gold) if counts else Score(0, 0, 0)


def _gold_entry(cell: Cell, label: str) -> Entry:
    gold = _type_score(cell, label).gold
    return Entry(f"{gold:,}" if gold else MISSING)
