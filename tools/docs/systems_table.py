"""Writes the tables of systems into ``docs/results.md`` from the lines of their studies.

python -m tools.docs.systems_table
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from metacross.baselines.catalog import find_baseline
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
    ("base-crf-student", "base, the CRF and their student together", _TRANSLATION),
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


_SUMMARY = (  # what there is beside the labeled source, system, what it is
    ("nothing", "base", "direct transfer"),
    ("nothing", "ours", "**metacross**"),
    ("raw text", "ours-tsl", "a student of metacross, which need not adapt"),
    (_TRANSLATION, "base-crf", "direct transfer and a CRF on translated text"),
    (_TRANSLATION, "ours-crf", "**metacross** and this CRF"),
    (_TRANSLATION, "base-crf-student", "direct transfer, this CRF and a student of the two"),
    (_TRANSLATION, "ours-crf-student", "**metacross**, this CRF and a student of the two"),
)


def summary_table() -> str:
    """The mean F1 of a few systems, by what they need."""
    grid = _zero_shot_grid()
    lines = [["beside labeled English", "system", "F1"], ["---"] * 3]
    for resources, system, description in _SUMMARY:
        f1 = _mean([grid.at(0.0, system, target) for target in _TARGETS])
        lines.append([resources, description, f1])
    return _table(lines)


def systems_table() -> str:
    """F1 of all systems without labeled target text, with their resources and costs."""
    grid = _zero_shot_grid()
    places = {target: (target, 0.0) for target in _TARGETS}
    return _table_of_systems(grid, _SYSTEMS, places)


def low_resource_table() -> str:
    """F1 of systems with a small part of the labeled target text."""
    grid = ResultsGrid.of(_lines("mini-low-resource-baselines"))
    places = {
        f"{target}, {fraction:.0%}": (target, fraction)
        for target in ("es", "nl")
        for fraction in _FRACTIONS
    }
    return _table_of_systems(grid, _LOW_RESOURCE_SYSTEMS, places)


def _table_of_systems(
    grid: ResultsGrid,
    systems: Sequence[tuple[str, str, str]],
    places: Mapping[str, tuple[str, float]],
) -> str:
    """Means of all seeds, with deviations, by places; ``places`` are targets and fractions by the
    names of their columns.
    """
    header = ["F1 on dev", "resources", *places, "mean", "seeds", "seconds", "MB"]
    lines = [header, ["---"] * len(header)]
    for system, description, resources in systems:
        cells = [grid.at(fraction, system, target) for target, fraction in places.values()]
        if any(cells):
            row = [f"{system}: {description}", resources, *map(_f1, cells), _mean(cells)]
            lines.append([*row, _seeds(cells), *_cost(cells)])
    return _table(lines)


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _zero_shot_grid() -> ResultsGrid:
    return ResultsGrid.of(_lines("mini-baselines") + _lines("mini-zero-shot"))


TABLES: Mapping[str, Callable[[], str]] = {
    "summary": summary_table,
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


def _lines(name: str) -> list[Result]:
    return results_in_file(RESULTS / f"{name}.jsonl")


def _f1(results: ResultsBySeed) -> str:
    f1 = mean_f1(results)
    return "" if f1 is None else _with_deviation(f1)


def _with_deviation(f1: MeanF1) -> str:
    return f"{f1.mean:.1f}" + ("" if f1.deviation is None else f" ± {f1.deviation:.1f}")


def _mean(of_places: Sequence[ResultsBySeed]) -> str:
    """The mean over the places, averaged over the seeds that all of them have."""
    seeds = set.intersection(*(set(results) for results in of_places))
    by_seed = [statistics.fmean(r[seed].f1 for r in of_places) for seed in sorted(seeds)]
    return _with_deviation(MeanF1.of(by_seed)) if by_seed else ""


def _seeds(of_places: Sequence[ResultsBySeed]) -> str:
    """How many seeds the places have; a dash for a system in which nothing is random."""
    result = next(result for results in of_places for result in results.values())
    if not is_random(result):
        return "-"
    return _range([len(results) for results in of_places])


def is_random(result: Result) -> bool:
    """Whether another seed may give another result: labeled target sentences are drawn too."""
    baseline = result.digests.get("baseline")
    return baseline is None or find_baseline(baseline).is_random or bool(result.fraction)


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
