"""Stored predictions: their counts and the comparisons made from them."""

import pytest

from made_up_study import made_up_study, result_in, summed_by_hand
from metacross.errors import DataError
from metacross.metrics.significance import compare
from metacross.study.predictions import StoredPredictions, compare_modes, compare_systems
from metacross.study.report import write_report
from metacross.study.results import StoredSentence, StudyFolder
from metacross.study.statistics import ResultsGrid


@pytest.mark.parametrize("system", ["ours", "without-masking"])
def test_systems_are_compared_by_counts_summed_over_paired_seeds(tmp_path, system):
    study = made_up_study(tmp_path)
    grid = ResultsGrid.of(study.results())
    expected = compare(
        summed_by_hand(study, system, "es", "adapted"), summed_by_hand(study, "base", "es", "plain")
    )
    results, baseline = grid.at(0.0, system, "es"), grid.at(0.0, "base", "es")
    assert compare_systems(StoredPredictions(study), results, baseline) == expected


def test_modes_are_compared_over_all_seeds(tmp_path):
    study = made_up_study(tmp_path)
    expected = compare(
        summed_by_hand(study, "ours", "zh", "adapted"), summed_by_hand(study, "ours", "zh", "plain")
    )
    results = ResultsGrid.of(study.results()).at(0.0, "ours", "zh")
    assert compare_modes(StoredPredictions(study), results) == expected


def test_different_corpora_are_not_compared(tmp_path):
    study = made_up_study(tmp_path)
    grid = ResultsGrid.of(study.results())
    spanish, chinese = (grid.at(0.0, "ours", target) for target in ("es", "zh"))
    assert compare_systems(StoredPredictions(study), spanish, chinese) is None


def test_results_without_predictions_are_not_compared(tmp_path):
    study = made_up_study(tmp_path, store_predictions=False)
    grid, stored = ResultsGrid.of(study.results()), StoredPredictions(study)
    results, baseline = grid.at(0.0, "ours", "es"), grid.at(0.0, "base", "es")
    assert compare_systems(stored, results, baseline) is None
    assert compare_modes(stored, results) is None
    assert not stored.has_any(grid.results)


def test_counts_in_the_results_are_compared_where_no_predictions_are_stored(tmp_path):
    with_predictions = made_up_study(tmp_path / "predictions")
    only_counts = made_up_study(tmp_path / "counts", store_predictions=False, store_counts=True)
    grid = ResultsGrid.of(only_counts.results())
    ours, base = grid.at(0.0, "ours", "es"), grid.at(0.0, "base", "es")
    expected, stored = StoredPredictions(with_predictions), StoredPredictions(only_counts)
    assert compare_systems(stored, ours, base) == compare_systems(expected, ours, base) is not None
    assert compare_modes(stored, ours) == compare_modes(expected, ours) is not None
    report = write_report(only_counts, "t").with_suffix(".md").read_text()
    assert "Only the counts of predictions are stored" in report
    assert "Case" not in report


@pytest.mark.parametrize("packed", ["?", "AAAA", "eJwDAAAAAAE=", "eJxjZGIGAAANAAc="])
def test_counts_that_cannot_be_unpacked_are_refused(tmp_path, packed):
    study = made_up_study(tmp_path, store_predictions=False)
    changed = result_in(study, "ours", "es", 0).model_copy(
        update={"sentence_counts": {"plain": packed, "adapted": packed}}
    )
    with pytest.raises(DataError, match=r"sentence_counts of ours \(seed 0, es\) cannot be unpack"):
        StoredPredictions(study).sentence_counts(changed)


def test_predictions_that_disagree_with_the_results_are_refused(tmp_path):
    study = made_up_study(tmp_path)
    ours = result_in(study, "ours", "es", 0)
    nothing = StoredSentence({"plain": (), "adapted": ()}, ())
    StudyFolder(tmp_path / "other").add(ours, [nothing] * 60)
    name = f"predictions/{ours.key}.jsonl"
    (tmp_path / "other" / name).replace(tmp_path / name)
    with pytest.raises(DataError, match=r"ours \(seed 0, es, zero-shot, plain\).* found 0 of 0"):
        StoredPredictions(study).sentence_counts(ours)


def test_truncated_predictions_are_refused(tmp_path):
    study = made_up_study(tmp_path)
    result = result_in(study, "base", "es", 0)
    path = study.folder / "predictions" / f"{result.key}.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(DataError, match=r"for 60 sentences of es, found 59; delete .*predictions"):
        write_report(study, "t")
