"""Running a study: what is trained, scored, saved, and resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import tiny
from metacross.adaptation.loading import load
from metacross.errors import RunError
from metacross.model.model_mark import is_model_folder
from metacross.study.callbacks import StudyCallback
from metacross.study.packed_counts import unpacked_counts
from metacross.study.plan import load_study
from metacross.study.results import StudyFolder
from metacross.study.run_study import plan_study, run_study
from metacross.text.reading import read_corpus
from metacross.text.writing import write_corpus


def scores(folder):
    return {
        result.key: (result.counts, result.training.validations)
        for result in StudyFolder(folder).results()
    }


def change_study(study_file, **changes):
    data = changes.pop("data", {})
    values = json.loads(study_file.read_text()) | changes
    values["data"] |= data
    study_file.write_text(json.dumps(values))


@pytest.mark.slow
def test_a_study_runs_once_and_a_second_call_does_nothing(study_file, tmp_path):
    output = tmp_path / "out"
    study = run_study(study_file, output=output)
    assert len(study.results) == 8
    assert study.report == output / "report.html"
    assert study.report.exists()
    assert (study.systems, study.targets) == (["base", "ours"], ["aa", "bb"])
    both_seeds = [c.f1 for c in study.results if (c.system, c.target) == ("ours", "aa")]
    assert study.f1("ours", "aa") == pytest.approx(sum(both_seeds) / 2)
    before = {path: path.stat().st_mtime_ns for path in (output / "results").iterdir()}
    assert run_study(study_file, output=output).results == study.results
    assert {path: path.stat().st_mtime_ns for path in (output / "results").iterdir()} == before


@pytest.mark.slow
def test_a_result_counts_the_stored_predictions(study_file, tmp_path):
    change_study(study_file, seeds=[1])
    study = run_study(study_file, output=tmp_path / "out")
    ours = next(c for c in study.results if (c.system, c.target) == ("ours", "aa"))
    assert {*ours.counts} == {"plain", "adapted"}
    assert ours.reported_mode == "adapted"
    assert [step for step, _ in ours.training.target_validations["aa"]] == [2, 4]
    folder = StudyFolder(tmp_path / "out")
    corpus = folder.corpus(ours.digests["target corpus"])
    assert corpus.sentences == read_corpus(tmp_path / "aa.conll", language="aa").sentences
    correct = sum(
        len({*gold.spans} & {*prediction.spans["adapted"]})
        for gold, prediction in zip(corpus, folder.sentences(ours), strict=True)
    )
    assert ours.score().correct == correct
    by_sentence = [
        [
            len({*gold.spans} & {*found.spans["adapted"]}),
            len(found.spans["adapted"]),
            len(gold.spans),
        ]
        for gold, found in zip(corpus, folder.sentences(ours), strict=True)
    ]
    assert unpacked_counts(ours.sentence_counts["adapted"]).tolist() == by_sentence


def test_the_command_and_python_give_the_same_results_file(small_study_file, tmp_path, run):
    options = {"seeds": [3], "set": ["direct.steps=3"]}
    run_study(small_study_file, output=tmp_path / "python", **options)
    command = ("--seeds", "3", "--set", "direct.steps=3", "--output", tmp_path / "command")
    assert run("experiment", small_study_file, *command).code == 0
    assert scores(tmp_path / "python") == scores(tmp_path / "command")


def test_a_study_object_can_be_run(small_study_file, tmp_path):
    study = load_study(small_study_file)
    results = run_study(study, output=tmp_path / "out", seeds=[5]).results
    assert [result.seed for result in results] == [5]


def test_dropped_labels_are_not_scored(small_study_file, tmp_path):
    study = run_study(small_study_file, output=tmp_path / "out", set=["data.drop=[LOC]"])
    (result,) = study.results
    assert result.labels == ("PER",)
    assert {*result.counts["plain"]} == {"PER"}
    corpus = StudyFolder(tmp_path / "out").corpus(result.digests["target corpus"])
    assert {*corpus.entities_by_label} == {"PER"}


@pytest.mark.slow
def test_labels_that_a_target_lacks_are_left_out_of_its_predictions(study_file, tmp_path):
    change_study(study_file, seeds=[1], systems={"base": ["direct"]}, one_model=True)
    study = run_study(study_file, output=tmp_path / "out", set=["direct.steps=40"])
    aa, bb = study.results
    assert aa.labels == bb.labels == ("LOC", "PER")
    assert aa.training.folder == bb.training.folder
    assert {*bb.counts["plain"]} == {"PER"}
    folder = StudyFolder(tmp_path / "out")
    model = load(folder.runs / bb.training.folder)
    predicted = [p.spans for p in model.predict_stream(read_corpus(tmp_path / "bb.conll"))]
    assert any(span.label == "LOC" for spans in predicted for span in spans)
    kept = [tuple(span for span in spans if span.label == "PER") for spans in predicted]
    assert [sentence.spans["plain"] for sentence in folder.sentences(bb)] == kept


class Recorder(StudyCallback):
    def __init__(self):
        self.events = []

    def on_study_begin(self, n_done, n_total):
        self.events.append(("study", n_done, n_total))

    def on_system_begin(self, system_run):
        self.events.append(("system", system_run.system))

    def on_train_begin(self, steps_done, steps):
        self.events.append(("train", steps))

    def on_scoring(self, what, n_done, n_total):
        if n_done == n_total:
            self.events.append(("scoring", what, n_total))

    def on_result(self, result):
        self.events.append(("result", result.key))


def test_a_callback_observes_the_study(small_study_file, tmp_path):
    recorder = Recorder()
    (result,) = run_study(small_study_file, output=tmp_path / "out", callback=recorder).results
    assert [*dict.fromkeys(recorder.events)] == [
        ("study", 0, 1),
        ("system", "base"),
        ("train", 4),
        ("scoring", "aa, plain", 16),
        ("result", result.key),
    ]


@pytest.mark.slow
def test_killed_and_resumed_it_has_the_results_of_an_uninterrupted_study(study_file, tmp_path):
    uninterrupted, killed = tmp_path / "uninterrupted", tmp_path / "killed"
    command = [sys.executable, "-m", "metacross", "experiment", str(study_file), "--output"]
    subprocess.run([*command, str(uninterrupted)], check=True, capture_output=True)
    for _ in range(2):
        child = subprocess.Popen([*command, str(killed)], stdout=-3, stderr=-3)
        n_before = len([*killed.glob("results/*.json")])
        deadline = time.monotonic() + 240
        while len([*killed.glob("results/*.json")]) <= n_before and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert 0 < len([*killed.glob("results/*.json")]) < 8
    subprocess.run([*command, str(killed)], check=True, capture_output=True)
    assert list(scores(killed)) == list(scores(uninterrupted))  # in the same order
    assert scores(killed) == scores(uninterrupted)


@pytest.mark.slow
def test_systems_with_the_same_settings_share_a_training_run(study_file, tmp_path):
    systems = {"one": [], "other": ["masking.ratio=0"], "twin": []}
    change_study(study_file, systems=systems, seeds=[1])
    study = run_study(study_file, output=tmp_path / "out")
    trained = {folder.name.split("_")[0] for folder in (tmp_path / "out" / "runs").iterdir()}
    assert trained == {"one", "other"}
    counts = {(result.system, result.target): result.counts for result in study.results}
    for target in ("aa", "bb"):
        assert counts["twin", target] == counts["one", target]


@pytest.mark.slow
def test_systems_that_differ_after_training_share_it_and_come_out_as_if_alone(
    study_file, corpora, tmp_path
):
    after = ["adaptation.learning_rate=0.1", "fine_tuning.learning_rate=0.05"]

    def results(name, systems):
        data = {"targets": {"aa": corpora["aa"]}, "target_train": {"aa": corpora["train"]}}
        change_study(study_file, systems=systems, seeds=[1], fractions=[0, 0.25], data=data)
        study = run_study(study_file, output=tmp_path / name)
        return {(result.system, result.fraction): result for result in study.results}

    together = results("together", {"one": [], "other": after})
    alone = results("alone", {"other": after})
    assert len([*(tmp_path / "together" / "runs").iterdir()]) == 1
    for fraction, mode in ((0.0, "adapted"), (0.25, "plain")):
        shared = together["other", fraction]
        assert shared.counts == alone["other", fraction].counts
        assert shared.counts[mode] != together["one", fraction].counts[mode]
        assert shared.recipe["adaptation"]["learning_rate"] == 0.1


@pytest.mark.slow
def test_fractions_of_target_text_are_fine_tuned_on(study_file, corpora, tmp_path):
    data = {"targets": {"aa": corpora["aa"]}, "target_train": {"aa": corpora["train"]}}
    change_study(study_file, fractions=[0, 0.25], seeds=[1], data=data)
    study = run_study(study_file, output=tmp_path / "out")
    results = {(result.system, result.fraction): result for result in study.results}
    assert {*results} == {(s, fraction) for s in ("base", "ours") for fraction in (0, 0.25)}
    assert results["ours", 0.25].reported_mode == "plain"  # a fine-tuned model does not adapt
    assert results["ours", 0.25].counts != results["ours", 0].counts


@pytest.mark.slow
def test_other_fine_tuning_or_labeled_text_uses_the_training_runs_again(
    small_study_file, corpora, tmp_path
):
    data = {"target_train": {"aa": corpora["train"]}}
    change_study(small_study_file, fractions=[0.25], data=data)
    changes = [
        {"set": []},
        {"set": ["fine_tuning.epochs=3"]},
        {"target_train": {"aa": corpora["dev"]}},
    ]

    def result(output, change):
        (only,) = run_study(small_study_file, output=output, **change).results
        return only

    for number, change in enumerate(changes):
        fresh = result(tmp_path / f"fresh-{number}", change)
        assert result(tmp_path / "out", change).counts == fresh.counts
    (run,) = (tmp_path / "out" / "runs").iterdir()
    tuned = sorted(path for path in run.glob("aa-25-*") if is_model_folder(path))
    assert len(tuned) == 3
    written = [(path / "model.safetensors").stat().st_mtime_ns for path in tuned]
    write_corpus(tiny.corpus(9, seed=8), corpora["aa"])  # nothing is trained for another target
    result(tmp_path / "out", {"set": []})
    assert sorted(run.glob("aa-25-*")) == tuned
    assert [(path / "model.safetensors").stat().st_mtime_ns for path in tuned] == written


class StopsInFineTuning(StudyCallback):
    """Stops the second training in its third step, as Ctrl-C; records how trainings begin."""

    def __init__(self):
        self.begun = []

    def on_train_begin(self, steps_done, steps):
        self.begun.append((steps_done, steps))

    def on_step_end(self, step, result):
        if len(self.begun) == 2 and step == 3:
            signal.raise_signal(signal.SIGINT)


def test_a_fine_tuning_that_was_stopped_goes_on_where_it_was(small_study_file, corpora, tmp_path):
    data = {"target_train": {"aa": corpora["train"]}}
    change_study(small_study_file, fractions=[0.25], data=data)
    callback = StopsInFineTuning()
    with pytest.raises(RunError, match="Stopped after step 3"):
        run_study(small_study_file, output=tmp_path / "out", callback=callback)
    (result,) = run_study(small_study_file, output=tmp_path / "out", callback=callback).results
    (_, training), (_, fine_tuning), (done, again) = callback.begun
    assert (training, done, again) == (4, 3, fine_tuning)
    (uninterrupted,) = run_study(small_study_file, output=tmp_path / "fresh").results
    assert result.counts == uninterrupted.counts


@pytest.mark.slow
def test_of_two_results_for_the_same_place_the_later_plan_counts(small_study_file, tmp_path):
    output = tmp_path / "out"
    (earlier,) = run_study(small_study_file, output=output).results
    shutil.rmtree(output / "runs")
    longer = ["direct.steps=60", "direct.learning_rate=1e-2"]
    (later,) = run_study(small_study_file, output=output, set=longer).results
    assert StudyFolder(output).results() == [earlier, later]
    assert later.recipe["direct"]["steps"] == 60
    assert later.f1 > earlier.f1
    assert f"{100 * later.f1:.1f}" in (output / "report.md").read_text()
    run_study(small_study_file, output=output, set=longer)
    assert StudyFolder(output).results() == [earlier, later]


def test_a_study_that_adapts_differently_uses_its_training_runs_again(small_study_file, tmp_path):
    change_study(small_study_file, systems={"ours": []})
    output = tmp_path / "out"
    (before,) = run_study(small_study_file, output=output).results
    (weights,) = output.glob("runs/*/model.safetensors")
    written = weights.stat().st_mtime_ns
    change = ["adaptation.learning_rate=0.1"]
    (after,) = run_study(small_study_file, output=output, set=change).results
    assert weights.stat().st_mtime_ns == written
    assert after.counts["plain"] == before.counts["plain"]
    assert after.counts["adapted"] != before.counts["adapted"]


def test_a_results_file_alone_is_enough_not_to_run_again(small_study_file, tmp_path):
    study = run_study(small_study_file, output=tmp_path / "out")
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(study.results_file, alone)
    assert run_study(small_study_file, output=alone).results == study.results
    assert not (alone / "runs").exists()


def test_the_saved_study_has_the_same_results(small_study_file, tmp_path):
    output = tmp_path / "out"
    study = run_study(small_study_file, output=output, set=["direct.steps=3"], seeds=[7])
    saved = (output / "study.yaml").rename(tmp_path / "saved.yaml")
    plan = plan_study(saved, output=output)
    assert [planned.key for planned in plan.results] == [result.key for result in study.results]
    assert plan.missing == ()


def test_the_learning_curve_of_another_target_is_not_that_of_the_target(
    small_study_file, corpora, tmp_path
):
    output = tmp_path / "out"
    (before,) = run_study(small_study_file, output=output).results
    assert [step for step, _ in before.training.target_validations["aa"]] == [2, 4]
    first = (tmp_path / "aa.conll").read_bytes()
    write_corpus(tiny.corpus(16, seed=77), corpora["aa"])
    (after,) = run_study(small_study_file, output=output).results
    assert after.training.target_validations == {"aa": ()}
    (tmp_path / "aa.conll").write_bytes(first)
    shutil.rmtree(output / "results")
    (output / "results.jsonl").unlink()
    (again,) = run_study(small_study_file, output=output).results
    assert again.training.target_validations == before.training.target_validations


def test_learning_curves_of_earlier_versions_are_read(small_study_file, tmp_path):
    output = tmp_path / "out"
    (before,) = run_study(small_study_file, output=output).results
    (file,) = output.glob("runs/*/training/targets.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines() if line]
    file.write_text(
        "".join(f'\n{{"step": {v["step"]}, "f1": {json.dumps(v["f1"])}}}' for v in lines)
    )
    shutil.rmtree(output / "results")
    (output / "results.jsonl").unlink()
    (after,) = run_study(small_study_file, output=output).results
    assert after.training.target_validations == before.training.target_validations
    assert after.training.target_validations["aa"]


def test_a_cut_off_line_of_a_learning_curve_does_not_stop_a_study(small_study_file, tmp_path):
    output = tmp_path / "out"
    (before,) = run_study(small_study_file, output=output).results
    (file,) = output.glob("runs/*/training/targets.jsonl")
    file.write_text(file.read_text() + '\n{"step": 4, "f')
    shutil.rmtree(output / "results")
    (output / "results.jsonl").unlink()
    (after,) = run_study(small_study_file, output=output).results
    assert after.training.target_validations == before.training.target_validations
