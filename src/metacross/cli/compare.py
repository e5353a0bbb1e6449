"""``metacross compare``: compares two studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from metacross.cli import output
from metacross.cli.options import JsonOption
from metacross.errors import SettingsError

if TYPE_CHECKING:
    from metacross.study.compare_studies import StudyComparison


def compare_command(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Folder of a study.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Folder of another study.")],
    as_json: JsonOption = False,
) -> None:
    """Compare the results that two studies have in common, with their significance.

    To compare two files of predictions, use `metacross score GOLD PREDICTED --against OTHER`.
    """
    from metacross.study.compare_studies import compare_studies

    for path in (first, second):
        if path.is_file():
            raise SettingsError(
                f"{path}: expected the folder of a study, found a file; compare files of "
                "predictions with metacross score GOLD PREDICTED --against OTHER"
            )
        if not (path / "results.jsonl").exists():
            raise SettingsError(f"{path}: expected the folder of a study, with results.jsonl")
    comparisons = compare_studies(first, second)
    if as_json:
        output.show_json([_comparison_values(comparison) for comparison in comparisons])
    else:
        output.show(_comparison_table(comparisons, f"{second} against {first}"))


def _comparison_values(comparison: StudyComparison) -> dict[str, object]:

    return {
        "system": comparison.system,
        "target": comparison.target,
        "fraction": comparison.fraction,
        "n_seeds": comparison.n_seeds,
        "first": comparison.first,
        "second": comparison.second,
        "comparison": comparison.comparison and output.comparison_json(comparison.comparison),
    }


def _comparison_table(comparisons: Sequence[StudyComparison], title: str) -> Table:
    from metacross.study.plan import fraction_name

    table = Table(title=title, title_justify="left")
    for heading in ("system", "target", "fraction", "seeds", "first", "second", "difference", "p"):
        table.add_column(heading, justify="left" if heading in ("system", "target") else "right")
    for comparison in comparisons:
        table.add_row(
            comparison.system,
            comparison.target,
            fraction_name(comparison.fraction),
            str(comparison.n_seeds),
            f"{100 * comparison.first:.2f}",
            f"{100 * comparison.second:.2f}",
            f"{100 * comparison.difference:+.2f}",
            _p_text(comparison),
        )
    return table


def _p_text(comparison: StudyComparison) -> str:
    if comparison.comparison is None:
        return ""
    mark = "" if comparison.comparison.significant else " n.s."
    return f"{comparison.comparison.p_value:.4f}{mark}"
