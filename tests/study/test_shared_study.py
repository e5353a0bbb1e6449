"""Studies whose training runs are shared out over the processes of torchrun."""

import json

import pytest

from metacross.study.results import StudyFolder
from metacross.study.run_study import run_study
from torchrun_launcher import torchrun


def scores(folder):
    return [
        (result.key, result.counts, result.training.validations)
        for result in StudyFolder(folder).results()
    ]


@pytest.mark.slow
def test_two_processes_give_the_results_of_one(study_file, tmp_path):
    values = json.loads(study_file.read_text())
    values["data"]["targets"].pop("bb")
    study_file.write_text(json.dumps(values | {"seeds": [1]}))
    output = tmp_path / "shared"
    command = ["-m", "metacross", "experiment", study_file, "--output", output]
    done = torchrun(2, *command, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Saved 2 results") == 1
    assert (output / "report.html").exists()
    run_study(study_file, output=tmp_path / "alone")
    assert scores(output) == scores(tmp_path / "alone")
    assert len(scores(output)) == 2


@pytest.fixture
def two_processes(monkeypatch):
    """This process believes to be the first of two."""
    variables = {"TORCHELASTIC_RUN_ID": "x", "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("metacross.model.ranks.is_first_to_report", lambda: True)


@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["experiment", "zero-shot", "--dry-run"], "--dry-run, --jobs: not under torchrun"),
        (["experiment", "active"], "the study active"),
        (["check", "x.conll"], "expected train or experiment, found check"),
        (
            ["train", "baseline:tsl", "--source=x", "--dev=x", "--target=es", "--output=y"],
            "torchrun: baselines: expected one process, found 2",
        ),
    ],
)
def test_what_processes_cannot_share_is_refused(arguments, message, run):
    done = run(*arguments)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert done.err.count("\n") == 1
