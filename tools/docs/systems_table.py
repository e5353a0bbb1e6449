"""Writes the table of systems into ``docs/results.md`` from the lines of their studies.

python -m tools.docs.systems_table
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
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


def systems_table() -> str:
    """F1 of all systems without labeled target text, with their resources and costs.

    Languages are shown with seed 1, which all systems have; the last mean is over all seeds.
    """
    grid = ResultsGrid.of(_lines("mini-baselines") + _lines("mini-zero-shot"))
    rows = [
        "| F1 on dev, seed 1 | resources | es | nl | de | mean | mean, 3 seeds | seconds | MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for system, description, resources in _SYSTEMS:
        by_target = [grid.at(0.0, system, target) for target in _TARGETS]
        with_seed_1 = [{seed: r[seed] for seed in r if seed == 1} for r in by_target]
        if not any(with_seed_1):
            continue
        cells = [
            f"{system}: {description}",
            resources,
            *map(_f1, with_seed_1),
            _mean(with_seed_1),
            _mean_of_seeds(by_target),
            *_cost(by_target),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def written(page: str) -> str:
    """A page with its table written anew, between comments."""
    before, begin, rest = page.partition("<!-- table: systems -->\n")
    _, end, after = rest.partition("<!-- end of table -->")
    if not begin or not end:
        raise ValueError(f"{PAGE}: expected comments around the table, found none")
    return f"{before}{begin}\n{systems_table()}\n{end}{after}"


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
    """The mean over the targets, averaged over seeds; empty where a target has only one."""
    seeds = set.intersection(*(set(results) for results in of_places))
    by_seed = [statistics.fmean(r[seed].f1 for r in of_places) for seed in sorted(seeds)]
    return _with_deviation(MeanF1.of(by_seed)) if len(by_seed) > 1 else ""


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
