"""Writes the tables of systems into ``docs/results.md`` from the lines of their studies.

python -m tools.docs.systems_tables
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from metacross.study.plan import fraction_name
from metacross.study.results import Result, results_in_file
from metacross.study.statistics import MeanF1, ResultsBySeed, ResultsGrid, mean_f1

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results.md"
RESULTS = ROOT / "docs" / "results"
_TARGETS = ("es", "nl", "de")
_TRANSLATION = "lexicon, parallel and raw text"
_SYSTEMS = (  # as on the page: system, what it is, resources
    ("crf", "shapes and affixes", ""),
    ("tackstrom", "clusters, CRF", "raw text"),
    ("ni-projection", "projection, CRF", "parallel text, lexicon"),
    ("ni", "projection and base, co-decoded", "parallel text, lexicon"),
    ("mayhew", "translation, CRF", _TRANSLATION),
    ("xie", "translation, self-attentive BiLSTM-CRF", _TRANSLATION),
    ("base", "direct transfer", ""),
    ("knn", "base and nearest words", ""),
    ("tsl", "student of base", "raw text"),
    ("advpicker", "student on sentences whose language is hard to tell", "raw text"),
    ("data-transfer", "base on translated text", _TRANSLATION),
    ("unitrans", "student of three models, two of them with translation", _TRANSLATION),
    ("colada", "translated and raw text, weighted words, two rounds", _TRANSLATION),
    ("ours", "meta-trained, adapting", ""),
    ("ours-tsl", "student of ours", "raw text"),
    ("ours-translated", "ours on source and translated text", _TRANSLATION),
    ("ours-translated-tsl", "student of it", _TRANSLATION),
    ("base-crf", "base and mayhew's CRF, the mean of their probabilities", _TRANSLATION),
    ("ours-crf", "ours and mayhew's CRF, the mean of their probabilities", _TRANSLATION),
    ("ours-crf-tsl", "student of them", _TRANSLATION),
    ("ours-crf-student", "ours, the CRF and their student together", _TRANSLATION),
)


def systems_table() -> str:
    """F1 of all systems without labeled target text, with their resources and costs."""
    grid = ResultsGrid.of(_lines("mini-baselines") + _lines("mini-zero-shot"))
    rows = [
        "| F1 on dev | resources | es | nl | de | mean | seeds | seconds | MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for system, description, resources in _SYSTEMS:
        by_target = [grid.at(0.0, system, target) for target in _TARGETS]
        if not any(by_target):
            continue
        cells = [
            f"{system}: {description}",
            resources,
            *map(_f1, by_target),
            _mean(by_target),
            _seeds(by_target),
            *_cost(by_target),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def fractions_table() -> str:
    """F1 of all systems with a little labeled target text."""
    grid = ResultsGrid.of(_lines("mini-low-resource-baselines"))
    places = [(target, fraction) for target in grid.targets for fraction in grid.fractions]
    heads = [f"{target}, {fraction_name(fraction)}" for target, fraction in places]
    rows = [f"| F1 on dev | {' | '.join(heads)} | mean |", "|---|" + "---|" * (len(heads) + 1)]
    for system in grid.systems:
        by_place = [grid.at(fraction, system, target) for target, fraction in places]
        cells = [system, *map(_f1, by_place), _mean(by_place)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


TABLES = {"systems": systems_table, "fractions": fractions_table}


def written(page: str) -> str:
    """A page with its tables written anew, between comments that name them."""
    for name, table in TABLES.items():
        before, begin, rest = page.partition(f"<!-- table: {name} -->\n")
        _, end, after = rest.partition("<!-- end of table -->")
        if not begin or not end:
            raise ValueError(f"{PAGE}: expected comments around the table {name}, found none")
        page = f"{before}{begin}\n{table()}\n{end}{after}"
    return page


def _lines(name: str) -> list[Result]:
    return results_in_file(RESULTS / f"{name}.jsonl")


def _f1(results: ResultsBySeed) -> str:
    f1 = mean_f1(results)
    return "" if f1 is None else _with_deviation(f1)


def _with_deviation(f1: MeanF1) -> str:
    return f"{f1.mean:.1f}" + ("" if f1.deviation is None else f" ± {f1.deviation:.1f}")


def _mean(of_places: Sequence[ResultsBySeed]) -> str:
    """The mean of the means; empty where one is missing."""
    means = [mean_f1(results) for results in of_places]
    known = [f1.mean for f1 in means if f1 is not None]
    return f"{statistics.fmean(known):.1f}" if len(known) == len(means) else ""


def _seeds(of_places: Sequence[ResultsBySeed]) -> str:
    return _range([float(len(results)) for results in of_places if results])


def _cost(of_places: Sequence[ResultsBySeed]) -> tuple[str, str]:
    """Seconds of training, from the fastest to the slowest, and the largest peak of memory."""
    trainings = [result.training for results in of_places for result in results.values()]
    megabytes = [training.megabytes for training in trainings if training.megabytes]
    seconds = _range([training.seconds for training in trainings])
    return seconds, f"{max(megabytes):,}" if megabytes else ""


def _range(values: Sequence[float]) -> str:
    least, most = f"{min(values):,.0f}", f"{max(values):,.0f}"
    return least if least == most else f"{least} to {most}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
