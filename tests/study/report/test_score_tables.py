"""Tables of scores and differences: their numbers, and the colors that follow them."""

import re

import pytest

from made_up_study import f1_by_hand, made_up_study, result_in
from metacross.study.predictions import StoredPredictions, compare_systems
from metacross.study.report.number_format import mean_entry, p_value_text
from metacross.study.report.score_tables import difference_table, score_table
from metacross.study.statistics import MeanF1, ResultsGrid, average_f1, mean_f1


def row_of(table, name):
    return next(row for row in table.rows if row.name == name)


def texts(row):
    return [entry.full_text for entry in row.entries]


def test_a_score_is_the_mean_and_deviation_of_a_target_and_their_average(tmp_path):
    grid = ResultsGrid.of(made_up_study(tmp_path).results())
    table = score_table(grid, 0.0)
    assert table.headings == ("system", "es", "zh", "average")
    means = [mean_f1(grid.at(0.0, "ours", target)) for target in ("es", "zh")]
    means.append(average_f1(grid, 0.0, "ours"))
    expected = [f"{mean.mean:.1f} ± {mean.deviation:.1f}" for mean in means]
    assert texts(row_of(table, "ours")) == expected


def test_one_seed_has_no_deviation_in_the_table(tmp_path):
    study = made_up_study(tmp_path, seeds=(3,))
    table = score_table(ResultsGrid.of(study.results()), 0.0)
    assert texts(row_of(table, "base"))[0] == f"{f1_by_hand(result_in(study, 'base', 'es', 3)):.1f}"
    assert "±" not in table.caption


def test_the_paper_s_values_follow_the_same_system(tmp_path):
    grid = ResultsGrid.of(made_up_study(tmp_path).results())
    zero_shot, two_percent = score_table(grid, 0.0), score_table(grid, 0.02)
    assert [row.name for row in zero_shot.rows][2:4] == ["ours", "ours, paper"]
    assert texts(zero_shot.rows[3]) == ["76.75", "77.89", f"{(76.75 + 77.89) / 2:.2f}"]
    assert texts(row_of(zero_shot, "without-masking, paper"))[:2] == ["75.57", "77.79"]
    assert texts(row_of(two_percent, "base, paper"))[:2] == ["77.28", "81.86"]
    assert "without-masking, paper" not in [row.name for row in two_percent.rows]
    assert "paper (mBERT; its test sets)" in zero_shot.caption


def test_the_caption_names_the_targets_of_the_average(tmp_path):
    missing = [(0.0, "base", "zh", seed) for seed in (0, 1)]
    table = score_table(ResultsGrid.of(made_up_study(tmp_path, exclude=missing).results()), 0.0)
    assert texts(row_of(table, "base"))[1] == "–"
    assert "Average over es." in table.caption


def test_missing_seeds_are_shown(tmp_path):
    study = made_up_study(tmp_path, exclude=[(0.0, "ours", "es", 1)])
    table = score_table(ResultsGrid.of(study.results()), 0.0)
    assert texts(row_of(table, "ours"))[0].endswith("(1 of 2 seeds)")
    assert mean_entry(MeanF1(50.0, None, 1), expected_seeds=1).full_text == "50.0"


@pytest.mark.parametrize("column", [0, 1, 2])
def test_the_color_of_a_score_follows_its_value_within_its_column(tmp_path, column):
    table = score_table(ResultsGrid.of(made_up_study(tmp_path).results()), 0.0)
    systems = [row for row in table.rows if row.tone is None]
    entries = sorted((row.entries[column] for row in systems), key=lambda e: float(e.text))
    assert [entry.shade for entry in entries] == sorted(entry.shade for entry in entries)
    assert (entries[0].shade, entries[-1].shade) == (0.0, 1.0)
    low, middle, high = (float(entry.text) for entry in entries)
    assert entries[1].shade == pytest.approx((middle - low) / (high - low), abs=0.01)


def test_the_paper_s_values_have_no_color(tmp_path):
    table = score_table(ResultsGrid.of(made_up_study(tmp_path).results()), 0.0)
    paper = [row for row in table.rows if row.name.endswith(", paper")]
    assert len(paper) == 3
    assert all(entry.shade is None for row in paper for entry in row.entries)


def test_a_difference_has_its_p_value(tmp_path):
    study = made_up_study(tmp_path)
    grid, stored = ResultsGrid.of(study.results()), StoredPredictions(study)
    table = difference_table(grid, stored, 0.0)
    for system in ("ours", "without-masking"):
        entry = row_of(table, system).entries[0]
        comparison = compare_systems(stored, grid.at(0.0, system, "es"), grid.at(0.0, "base", "es"))
        assert p_value_text(comparison.p_value) in entry.note
        assert ("n.s." in entry.note) == (comparison.p_value >= 0.05)
        assert "p" not in texts(row_of(table, system))[2]  # the average has no p-value


def test_a_difference_that_is_not_significant_has_no_color(tmp_path):
    study = made_up_study(tmp_path)
    table = difference_table(ResultsGrid.of(study.results()), StoredPredictions(study), 0.0)
    better, not_significant = (
        row_of(table, "ours").entries,
        row_of(table, "without-masking").entries,
    )
    assert [entry.tone for entry in better[:2]] == ["good", "good"]
    assert max(entry.shade for entry in better[:2]) == 1.0
    assert [entry.tone for entry in not_significant[:2]] == ["muted", "muted"]
    assert [entry.shade for entry in not_significant] == [None, None, None]


def test_without_predictions_differences_have_no_p_values(tmp_path):
    study = made_up_study(tmp_path, store_predictions=False)
    table = difference_table(ResultsGrid.of(study.results()), StoredPredictions(study), 0.0)
    assert [row.name for row in table.rows] == ["ours", "without-masking"]
    assert all(re.fullmatch(r"[-+]\d+\.\d", text) for row in table.rows for text in texts(row))
    for row in table.rows:
        for entry in row.entries[:2]:
            assert (entry.shade < 0) == entry.text.startswith("-")
