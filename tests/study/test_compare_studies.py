"""Two studies are compared."""

import pytest

from metacross.errors import DataError
from metacross.study.compare_studies import compare_studies
from metacross.study.results import StudyFolder
from metacross.study.run_study import run_study


@pytest.mark.slow
def test_two_studies_are_compared_result_by_result(study_file, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    run_study(study_file, output=first)
    run_study(study_file, output=second, set=["adaptation.learning_rate=1e-2"])
    comparisons = compare_studies(first, StudyFolder(second))
    assert [(c.system, c.target, c.fraction) for c in comparisons] == [
        ("base", "aa", 0.0),
        ("ours", "aa", 0.0),
        ("base", "bb", 0.0),
        ("ours", "bb", 0.0),
    ]
    base = comparisons[0]
    assert base.first == base.second
    assert base.difference == 0
    assert base.comparison.p_value == 1
    assert base.n_seeds == 2


def test_studies_of_different_sentences_are_not_compared(small_study_file, corpora, tmp_path):
    run_study(small_study_file, output=tmp_path / "first")
    run_study(small_study_file, output=tmp_path / "second", targets={"aa": corpora["dev"]})
    with pytest.raises(DataError, match="aa: expected the same sentences"):
        compare_studies(tmp_path / "first", tmp_path / "second")


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected a study with results, found none"):
        compare_studies(tmp_path, tmp_path)
