"""Writes the tables of systems into ``docs/results.md`` from the lines of their studies.

python -m tools.docs.systems_table
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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
_FRACTIONS = (0.01, 0.02, 0.05)
_LOW_RESOURCE_SYSTEMS = (
    ("crf", "source and target text together", ""),
    ("mayhew", "translated and target text together, CRF", _TRANSLATION),
    ("xie", "translated and target text together, BiLSTM-CRF", _TRANSLATION),
    ("yang", "a BiLSTM-CRF for each language, shared characters", "raw text"),
    ("lin-ml", "a BiLSTM-CRF of both languages, gated outputs", "raw text"),
    ("base", "direct transfer, fine-tuned", ""),
    ("tsl", "student of base, fine-tuned", "raw text"),
    ("ours", "meta-trained, fine-tuned", ""),
    ("ours-translated", "ours on source and translated text, fine-tuned", _TRANSLATION),
    ("base-crf", "base, fine-tuned, and mayhew's CRF together", _TRANSLATION),
    ("ours-crf", "ours, fine-tuned, and mayhew's CRF together", _TRANSLATION),
)


def systems_table() -> str:
    """F1 of all systems without labeled target text, with their resources and costs.

    Languages are shown with seed 1, which all systems have; the last mean is over all seeds.
    """
    grid = ResultsGrid.of(_lines("mini-baselines") + _lines("mini-zero-shot"))
    columns = ("resources", *_TARGETS, "mean", "mean, 3 seeds", "seconds", "MB")
    rows = []
    for system, description, resources in _SYSTEMS:
        by_target = [grid.at(0.0, system, target) for target in _TARGETS]
        with_seed_1 = [_with_seed_1(results) for results in by_target]
        if any(with_seed_1):
            rows.append(
                [
                    f"{system}: {description}",
                    resources,
                    *map(_f1, with_seed_1),
                    _mean(with_seed_1),
                    _mean_of_seeds(by_target),
                    *_cost(by_target),
                ]
            )
    return _table(["F1 on dev, seed 1", *columns], rows)


def low_resource_table() -> str:
    """F1 of systems with a small part of the labeled target text, seed 1."""
    grid = ResultsGrid.of(_lines("mini-low-resource-baselines"))
    places = [(target, fraction) for target in ("es", "nl") for fraction in _FRACTIONS]
    rows = []
    for system, description, resources in _LOW_RESOURCE_SYSTEMS:
        cells = [_with_seed_1(grid.at(fraction, system, target)) for target, fraction in places]
        if any(cells):
            row = [f"{system}: {description}", resources, *map(_f1, cells), _mean(cells)]
            rows.append([*row, *_cost(cells)])
    columns = [f"{target}, {fraction:.0%}" for target, fraction in places]
    header = ["F1 on dev, seed 1", "resources", *columns, "mean", "seconds", "MB"]
    return _table(header, rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "systems": systems_table,
    "low-resource": low_resource_table,
}


def written(page: str) -> str:
    """A page with its tables written anew, between comments."""
    for name, table in TABLES.items():
        before, begin, rest = page.partition(f"<!-- table: {name} -->\n")
        _, end, after = rest.partition("<!-- end of table -->")
        if not begin or not end:
            raise ValueError(f"{PAGE}: expected comments around the table {name}, found none")
        page = f"{before}{begin}\n{table()}\n{end}{after}"
    return page


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _with_seed_1(results: ResultsBySeed) -> ResultsBySeed:
    return {seed: results[seed] for seed in results if seed == 1}


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


def _mean_of_seeds(of_places: Sequence[ResultsBySeed]) -> str:
    """The mean over the targets, averaged over three seeds; empty where a target has fewer."""
    seeds = set.intersection(*(set(results) for results in of_places))
    by_seed = [statistics.fmean(r[seed].f1 for r in of_places) for seed in sorted(seeds)]
    return _with_deviation(MeanF1.of(by_seed)) if len(by_seed) == 3 else ""


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
