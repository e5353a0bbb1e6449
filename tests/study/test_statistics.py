"""Averages over seeds and targets, against arithmetic done by hand."""

import numpy as np
import pytest

from made_up_study import f1_by_hand, label_counts, made_up_study, result_in
from metacross.study.statistics import (
    ResultsGrid,
    average_difference,
    average_f1,
    mean_difference,
    mean_f1,
    mean_label_f1,
    plain_and_adapted_f1,
    with_both_modes,
)


def grid_of(study):
    return ResultsGrid.of(study.results())


def test_a_mean_has_the_sample_standard_deviation_over_seeds(tmp_path):
    study = made_up_study(tmp_path)
    f1s = [f1_by_hand(result_in(study, "ours", "es", seed)) for seed in (0, 1)]
    mean = mean_f1(grid_of(study).at(0.0, "ours", "es"))
    assert mean.mean == pytest.approx(np.mean(f1s))
    assert mean.deviation == pytest.approx(np.std(f1s, ddof=1))
    assert mean.n_seeds == 2


def test_one_seed_has_no_deviation(tmp_path):
    study = made_up_study(tmp_path, seeds=(3,))
    assert mean_f1(grid_of(study).at(0.0, "ours", "es")).deviation is None


def test_the_average_is_over_the_targets_that_all_systems_have(tmp_path):
    missing = [(0.0, "base", "zh", seed) for seed in (0, 1)]
    grid = grid_of(made_up_study(tmp_path, exclude=missing))
    assert grid.shared_targets(0.0) == ["es"]
    assert average_f1(grid, 0.0, "ours") == mean_f1(grid.at(0.0, "ours", "es"))


def test_the_average_varies_as_the_averages_of_the_seeds(tmp_path):
    study = made_up_study(tmp_path)
    by_target = [
        [f1_by_hand(result_in(study, "ours", target, seed)) for seed in (0, 1)]
        for target in ("es", "zh")
    ]
    average = average_f1(grid_of(study), 0.0, "ours")
    assert average.mean == pytest.approx(np.mean(by_target))
    assert average.deviation == pytest.approx(np.std(np.mean(by_target, axis=0), ddof=1))


def test_a_difference_is_the_mean_over_the_seeds_that_both_have(tmp_path):
    study = made_up_study(tmp_path, exclude=[(0.0, "base", "es", 1)])
    grid = grid_of(study)
    ours, base = (f1_by_hand(result_in(study, system, "es", 0)) for system in ("ours", "base"))
    results, baseline = grid.at(0.0, "ours", "es"), grid.at(0.0, "base", "es")
    assert mean_difference(results, baseline) == pytest.approx(ours - base)
    assert mean_difference(results, {}) is None


def test_the_average_difference_is_the_mean_over_targets(tmp_path):
    grid = grid_of(made_up_study(tmp_path))
    differences = [
        mean_difference(grid.at(0.0, "ours", target), grid.at(0.0, "base", target))
        for target in ("es", "zh")
    ]
    assert average_difference(grid, 0.0, "ours") == pytest.approx(np.mean(differences))


def test_there_is_no_average_difference_where_a_target_has_none(tmp_path):
    missing = [(0.0, "base", "es", 1), (0.0, "ours", "es", 0)]  # they share no seed on es
    grid = grid_of(made_up_study(tmp_path, exclude=missing))
    assert average_difference(grid, 0.0, "ours") is None


def test_f1_of_a_label_is_the_mean_over_seeds(tmp_path):
    results = grid_of(made_up_study(tmp_path)).at(0.0, "ours", "es")
    counts = [label_counts(result)["LOC"] for result in results.values()]
    expected = np.mean([200 * count.correct / (count.predicted + count.gold) for count in counts])
    assert mean_label_f1(results, "LOC") == pytest.approx(expected)
    assert mean_label_f1(results, "MISC") is None


def test_the_newest_result_counts(tmp_path):
    study = made_up_study(tmp_path)
    old = result_in(study, "ours", "es", 0)
    new = result_in(study, "base", "es", 0).model_copy(update={"system": "ours", "key": "again"})
    grid = ResultsGrid.of([*study.results(), new])
    assert grid.n_replaced == 1
    assert grid.at(0.0, "ours", "es")[0] == new != old


def test_missing_results_are_counted_within_a_fraction(tmp_path):
    missing = [(0.0, "ours", "es", 0)]
    missing += [(0.02, "base", target, seed) for target in ("es", "zh") for seed in (0, 1)]
    grid = grid_of(made_up_study(tmp_path, exclude=missing))
    assert grid.systems_in(0.02) == ["ours", "without-masking"]
    assert grid.n_missing == 1  # base has no results with 2 %: it is not expected there


def test_systems_with_the_same_runs_are_grouped(tmp_path):
    results = [
        result.model_copy(
            update={"training": result.training.model_copy(update={"folder": f"run-{result.seed}"})}
        )
        if result.system != "base"
        else result
        for result in made_up_study(tmp_path).results()
    ]
    assert ResultsGrid.of(results).systems_by_run == [["base"], ["ours", "without-masking"]]


def test_modes_are_compared_where_there_are_both(tmp_path):
    grid = grid_of(made_up_study(tmp_path))
    assert with_both_modes(grid.at(0.0, "base", "es")) == {}
    results = with_both_modes(grid.at(0.0, "ours", "es"))
    assert results == grid.at(0.0, "ours", "es")
    plain, adapted = plain_and_adapted_f1(results)
    assert adapted == pytest.approx(mean_f1(results).mean)
    assert plain == pytest.approx(100 * np.mean([r.score("plain").f1 for r in results.values()]))


def test_the_baseline_is_base_or_the_first_system(tmp_path):
    results = made_up_study(tmp_path).results()
    assert ResultsGrid.of(results).baseline == "base"
    others = [result for result in results if result.system != "base"]
    assert ResultsGrid.of(others).baseline == "ours"


def test_the_adapting_system_is_ours_or_the_last_that_adapts(tmp_path):
    results = made_up_study(tmp_path).results()
    assert ResultsGrid.of(results).adapting_system == "ours"
    others = [result for result in results if result.system != "ours"]
    assert ResultsGrid.of(others).adapting_system == "without-masking"
    only_base = [result for result in results if result.system == "base"]
    assert ResultsGrid.of(only_base).adapting_system is None
