"""The progress of a study in the terminal."""

import pytest

from metacross.cli.study_progress import StudyProgress
from metacross.training.loop import StepResult


@pytest.fixture
def progress(monkeypatch):
    """The progress of a study in a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with StudyProgress() as progress:
        progress.on_study_begin(0, 4)
        yield progress


def bars(progress):
    """Title, work done and work in all of each bar."""
    return [
        (task.description, int(task.completed), task.total) for task in progress._progress.tasks
    ]


def test_every_process_has_a_bar_of_its_work(progress):
    first, second = progress.of_worker(0), progress.of_worker(1)
    first.on_train_begin(0, 100)
    second.on_train_begin(20, 50)
    first.on_step_end(7, StepResult(loss=0.5, n_items=8))
    progress.of_worker(1).on_step_end(21, StepResult(loss=0.5, n_items=8))
    assert bars(progress) == [("results", 0, 4), ("training", 7, 100), ("training", 21, 50)]


def test_a_bar_is_removed_when_its_work_is_done(progress):
    progress.on_prepare("vectors", 3, 8)
    assert bars(progress)[1:] == [("vectors", 3, 8)]
    progress.on_prepare("vectors", 8, 8)
    assert bars(progress)[1:] == []
    progress.on_train_begin(0, 100)
    progress.on_train_end()
    assert bars(progress)[1:] == []


def test_other_work_has_another_bar(progress):
    progress.on_scoring("es, plain", 3, 8)
    progress.on_scoring("es, adapted", 1, 8)
    assert bars(progress)[1:] == [("es, adapted", 1, 8)]
