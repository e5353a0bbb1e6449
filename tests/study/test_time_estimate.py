"""The estimated time of a study."""

import pytest

from metacross.study import time_estimate
from metacross.study.run_study import plan_study, run_study
from metacross.study.time_estimate import Speed, estimate_seconds


def test_a_finished_training_run_takes_no_time(small_study_file, tmp_path, monkeypatch):
    speed = Speed(step=10, scored_sentence=0.1, plain_sentence=0)
    monkeypatch.setattr(time_estimate, "_measured_speed", lambda _run: speed)
    plan = plan_study(small_study_file, output=tmp_path / "out")
    labeling = 0.1 * len(plan.results[0].target.corpus)
    runs = plan.folder.runs
    assert estimate_seconds(plan.results, runs, 0) == pytest.approx(10 * 4 + labeling)
    run_study(small_study_file, output=tmp_path / "out")
    assert estimate_seconds(plan.results, runs, 0) == pytest.approx(labeling)


def test_the_speed_is_measured_with_a_few_steps(small_study_file, tmp_path):
    plan = plan_study(small_study_file, output=tmp_path / "out")
    assert estimate_seconds(plan.results, plan.folder.runs, 0) > 0
    assert not (tmp_path / "out").exists()
