"""``metacross experiment`` and ``metacross compare``."""

import json
import re

import pytest

import tiny
from metacross.model import encoder
from metacross.study import time_estimate
from metacross.text.writing import write_corpus

SHORT = ("meta.steps=4", "meta.tasks_per_step=2", "direct.steps=4", "run.validate_every=2")


@pytest.fixture
def study_file(encoders, tmp_path):
    """Two systems with one seed and one target."""
    files = {}
    for name, n, seed in [("train", 30, 1), ("dev", 12, 2), ("aa", 16, 3)]:
        files[name] = str(tmp_path / f"{name}.conll")
        write_corpus(tiny.corpus(n, seed=seed), files[name])
    values = {
        "title": "A small study",
        "systems": {"base": ["direct"], "ours": []},
        "encoder": encoders["bert"],
        "seeds": [1],
        "set": [*tiny.FAST, *SHORT],
        "data": {"source": files["train"], "dev": files["dev"], "targets": {"aa": files["aa"]}},
    }
    path = tmp_path / "study.yaml"
    path.write_text(json.dumps(values))
    return path


def log_of_ours(log: str) -> list[str]:
    """The lines of the system ``ours``, with scores replaced by a star."""
    lines = [line for line in log.splitlines() if line.startswith("ours")]
    return [re.sub(r"F1 \d+\.\d\d", "F1 *", line) for line in lines]


@pytest.mark.slow
def test_a_study_is_run_and_compared(study_file, tmp_path, run):
    first, second = tmp_path / "first", tmp_path / "second"
    outcome = run("experiment", study_file, "--output", first)
    assert outcome.code == 0, outcome.err
    assert f"Saved 2 results to {first / 'results.jsonl'}" in outcome.out
    assert f"Saved report to {first / 'report.html'}" in outcome.out
    assert log_of_ours(outcome.err) == [
        "ours, 2 labels, seed 1: training, 4 steps",
        "ours, 2 labels, seed 1: step 2: dev F1 *",
        "ours, 2 labels, seed 1: step 4: dev F1 *",
        "ours, seed 1, aa, zero-shot: F1 * (2 of 2)",
    ]
    changed = run(
        "experiment", study_file, "--jobs", 2, "--output", second, "--set", "without-max-loss"
    )
    assert changed.code == 0, changed.err
    assert log_of_ours(changed.err)[:3] == log_of_ours(outcome.err)[:3]
    values = json.loads(run("compare", first, second, "--json").out)
    assert [value["system"] for value in values] == ["base", "ours"]
    assert values[0]["first"] == values[0]["second"]
    assert values[0]["comparison"]["p_value"] == 1
    table = run("compare", first, second)
    assert "n.s." in table.out
    assert "zero-shot" in table.out


@pytest.mark.slow
def test_a_dry_run_shows_the_plan_and_trains_nothing(study_file, tmp_path, run):
    outcome = run("experiment", study_file, "--output", tmp_path / "out", "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "2 training runs, 2 results, 0 of them done." in " ".join(outcome.out.split())
    assert "minutes" in outcome.out
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_dry_run_of_a_finished_study_loads_no_encoder(study_file, tmp_path, run, monkeypatch):
    assert run("experiment", study_file, "--output", tmp_path / "out").code == 0

    def refuse(*_arguments, **_options):
        raise AssertionError("an encoder was loaded")

    monkeypatch.setattr(encoder, "_load", refuse)
    monkeypatch.setattr(time_estimate, "_measured_speed", refuse)
    outcome = run("experiment", study_file, "--output", tmp_path / "out", "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "2 results, 2 of them done" in " ".join(outcome.out.split())


@pytest.mark.slow
def test_damaged_predictions_are_an_error_with_their_place(study_file, tmp_path, run):
    output = tmp_path / "out"
    run("experiment", study_file, "--output", output)
    file = sorted(output.glob("predictions/*.jsonl"))[0]
    file.write_text("{}\n" + file.read_text())
    outcome = run("experiment", study_file, "--output", output)
    assert outcome.code == 1
    assert f"{file}:1: expected the predictions of a sentence" in outcome.err


def test_a_list_of_recipes_is_written_with_commas(study_file, tmp_path, run):
    options = ("--recipe", "mini,direct", "--output", tmp_path / "out")
    assert run("experiment", study_file, *options).code == 0
    assert "recipe:\n- mini\n- direct\n" in (tmp_path / "out" / "study.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("experiment", "zero-shoot"), "released-code, zero-shot; did you mean zero-shot?"),
        (("experiment", "zero-shot", "--target", "es"), "--target: expected LANG=FILE"),
        (("experiment", "zero-shot", "--seeds", "a,b"), "--seeds: expected numbers"),
        (("experiment", "zero-shot", "--set", "dirct"), "set: expected group.key=value"),
        (("experiment", "low-resource"), "give --source, --dev, --target and --train"),
        (
            ("experiment", "zero-shot", "--target", "aa=x.conll", "--target", "aa=y.conll"),
            "--target: expected one file for each language, found x.conll and y.conll for aa",
        ),
        (("experiment", "zero-shot", "--output", "FILE"), "expected a folder for the study"),
        (("compare", "none", "FOLDER"), "none: expected the folder of a study"),
        (("compare", "FOLDER", "FOLDER"), "expected the folder of a study, with results.jsonl"),
        (
            ("compare", "FILE", "FILE"),
            "found a file; compare files of predictions with metacross score GOLD PREDICTED --against OTHER",
        ),
    ],
)
def test_a_user_error_is_one_line(run, tmp_path, arguments, message):
    (tmp_path / "file").write_text("x O\n")
    places = {"FILE": tmp_path / "file", "FOLDER": tmp_path}
    outcome = run(*(places.get(argument, argument) for argument in arguments))
    assert outcome.code == 1
    assert message in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_an_unknown_study_is_told_all_there_are(run):
    outcome = run("experiment", "nowhere")
    assert "a study of active, baselines," in outcome.err
