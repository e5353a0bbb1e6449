"""Studies: what is plan_results, what is run, and that a kill changes nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tiny
from metacross.errors import DataError, SettingsError
from metacross.study import time_estimate as estimate
from metacross.study.plan import load_study, plan_system_runs, quick, study_names
from metacross.study.results import StudyFolder
from metacross.study.run_study import plan_results
from metacross.text.reading import read_corpus
from metacross.text.writing import write_corpus

SHORT = ("meta.steps=4", "meta.tasks_per_step=2", "direct.steps=4", "run.validate_every=2")
SYSTEMS = {"base": ["run.method=direct"], "ours": []}


@pytest.fixture
def corpora(tmp_path):
    """Files of a source and two targets, of which one has no places."""
    files = {}
    for name, n, seed in [("train", 30, 1), ("dev", 12, 2), ("aa", 16, 3), ("bb", 16, 4)]:
        corpus = tiny.corpus(n, seed=seed)
        if name == "bb":
            corpus = corpus.relabeled({"LOC": None})
        files[name] = str(tmp_path / f"{name}.conll")
        write_corpus(corpus, files[name])
    return files


@pytest.fixture
def study_file(corpora, encoders, tmp_path):
    path = tmp_path / "study.yaml"
    values = {
        "title": "A small study",
        "systems": SYSTEMS,
        "encoder": encoders["bert"],
        "seeds": [1, 2],
        "change": [*tiny.FAST, *SHORT],
        "data": {
            "source": corpora["train"],
            "dev": corpora["dev"],
            "targets": {"aa": corpora["aa"], "bb": corpora["bb"]},
        },
    }
    path.write_text(json.dumps(values))  # JSON is YAML
    return path


def scores(folder):
    return {
        result.key: (result.modes, result.training.validations)
        for result in StudyFolder(folder).results()
    }


def test_the_studies_of_the_paper_are_there():
    assert study_names() == ["k", "lambda", "low-resource", "mask", "released-code", "zero-shot"]
    for name in study_names():
        study = load_study(
            name, {"encoder": "mini"} if name != "low-resource" else {"fractions": [0]}
        )
        assert plan_system_runs(study)


def test_a_target_without_a_type_gets_a_model_that_does_not_know_it(study_file):
    system_runs = plan_system_runs(load_study(str(study_file), {}))
    assert [(u.system, u.seed, u.labels, [t.name for t in u.targets]) for u in system_runs[:4]] == [
        ("base", 1, ("LOC", "PER"), ["aa"]),
        ("ours", 1, ("LOC", "PER"), ["aa"]),
        ("base", 1, ("PER",), ["bb"]),
        ("ours", 1, ("PER",), ["bb"]),
    ]
    assert len(system_runs) == 8
    for system_run in system_runs:
        assert (
            tuple(system_run.source.entities_by_label)
            == system_run.labels
            == tuple(system_run.dev.entities_by_label)
        )


def test_a_key_depends_on_system_recipe_data_and_seed_and_on_nothing_else(study_file):
    def keys(**changes):
        return [
            result.key
            for result in plan_results(plan_system_runs(load_study(str(study_file), changes)))
        ]

    assert len({*keys()}) == 8
    assert keys() == keys()
    assert keys(title="Another") == keys()
    assert keys(change=[*tiny.FAST, *SHORT, "run.checkpoint_every=77"]) == keys()
    assert not {*keys(change=[*tiny.FAST, *SHORT, "meta.inner_learning_rate=0.5"])} & {*keys()}
    assert not {*keys(seeds=[3])} & {*keys()}
    twins = {"base": SYSTEMS["base"], "twin": SYSTEMS["base"]}
    assert len({*keys(systems=twins)}) == 8


def test_labeled_target_text_counts_where_it_is_used(study_file, corpora):
    def keys(**data):
        changes = {"fractions": [0, 0.5]}
        train = {"target_train": {"aa": corpora["aa"], "bb": corpora["bb"], **data}}
        study = load_study(str(study_file), changes, data=train)
        return {
            (c.system_run.folder, c.target.name, c.fraction): c.key
            for c in plan_results(plan_system_runs(study))
        }

    before, after = keys(), keys(aa=corpora["train"])
    changed = {place for place in before if before[place] != after[place]}
    assert {(target, fraction) for _, target, fraction in changed} == {("aa", "50%")}


@pytest.mark.parametrize(
    ("change", "fraction"),
    [("fine_tuning.learning_rate=0.5", "50%"), ("adaptation.learning_rate=0.5", "zero-shot")],
)
def test_what_comes_after_training_counts_where_it_is_used(study_file, corpora, change, fraction):
    def keys(*changes):
        train = {"target_train": {"aa": corpora["aa"], "bb": corpora["bb"]}}
        study = load_study(str(study_file), {"fractions": [0, 0.5]}, data=train, settings=changes)
        return [(result.key, result.fraction) for result in plan_results(plan_system_runs(study))]

    changed = {*keys(change)} - {*keys()}
    assert {of for _, of in changed} == {fraction}
    assert len(changed) == len(keys()) / 2


def test_a_study_is_run_whole_and_a_second_time_does_nothing(study_file, tmp_path, run):
    output = tmp_path / "out"
    first = run("experiment", study_file, "--output", output)
    assert first.code == 0, first.err
    results = StudyFolder(output).results()
    assert len(results) == 8
    assert (output / "report.html").exists()
    ours = next(c for c in results if (c.system, c.target, c.seed) == ("ours", "aa", 1))
    assert {*ours.modes} == {"plain", "adapted"}
    assert ours.reported_mode == "adapted"
    assert [step for step, _ in ours.training.target_validations["aa"]] == [2, 4]
    corpus = StudyFolder(output).corpus(ours.digests["target corpus"])
    assert corpus.sentences == read_corpus(tmp_path / "aa.conll", language="aa").sentences
    found = StudyFolder(output).sentences(ours)
    right = sum(
        len({*gold.spans} & {*own.spans["adapted"]})
        for gold, own in zip(corpus, found, strict=True)
    )
    assert ours.score().correct == right
    before = {path: path.stat().st_mtime_ns for path in (output / "results").iterdir()}
    assert run("experiment", study_file, "--output", output).code == 0
    assert {path: path.stat().st_mtime_ns for path in (output / "results").iterdir()} == before


def test_killed_and_taken_up_it_has_the_results_of_an_uninterrupted_one(study_file, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-m", "metacross", "experiment", str(study_file), "--output"]
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    for _ in range(2):
        child = subprocess.Popen([*command, str(killed)], stdout=-3, stderr=-3)
        n_before = len([*killed.glob("results/*.json")])
        deadline = time.monotonic() + 120
        while len([*killed.glob("results/*.json")]) <= n_before and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert 0 < len([*killed.glob("results/*.json")]) < 8
    subprocess.run([*command, str(killed)], check=True, capture_output=True)
    assert list(scores(killed)) == list(scores(whole))  # in the same order
    assert scores(killed) == scores(whole)


def test_several_processes_share_the_work(study_file, tmp_path, monkeypatch):
    output = tmp_path / "out"
    command = [sys.executable, "-m", "metacross", "experiment", str(study_file)]
    subprocess.run(
        [*command, "--output", str(output), "--jobs", "2"], check=True, capture_output=True
    )
    assert len(StudyFolder(output).results()) == 8


@pytest.mark.parametrize("jobs", [1, 2])
def test_systems_with_the_same_recipe_share_a_training(study_file, tmp_path, jobs):
    values = json.loads(study_file.read_text())
    values |= {"systems": {"one": [], "other": ["masking.ratio=0"], "twin": []}, "seeds": [1]}
    study_file.write_text(json.dumps(values))
    output = tmp_path / "out"
    command = [sys.executable, "-m", "metacross", "experiment", str(study_file), "--jobs"]
    subprocess.run([*command, str(jobs), "--output", output], check=True, capture_output=True)
    trained = {folder.name.split("_")[0] for folder in (output / "runs").iterdir()}
    assert trained == {"one", "other"}
    modes = {(c.system, c.target): c.modes for c in StudyFolder(output).results()}
    for target in ("aa", "bb"):
        assert modes["twin", target] == modes["one", target]
    assert "One training serves one, twin." in (output / "report.md").read_text()


def test_systems_that_differ_after_training_share_it_and_come_out_as_if_alone(
    study_file, corpora, tmp_path, run
):
    after = ["adaptation.learning_rate=0.1", "fine_tuning.learning_rate=0.05"]

    def results(name, systems):
        values = json.loads(study_file.read_text())
        values |= {"systems": systems, "seeds": [1], "fractions": [0, 0.25]}
        values["data"] |= {"targets": {"aa": corpora["aa"]}}
        values["data"] |= {"target_train": {"aa": corpora["train"]}}
        study_file.write_text(json.dumps(values))
        done = run("experiment", study_file, "--output", tmp_path / name)
        assert done.code == 0, done.err
        return {(c.system, c.fraction): c for c in StudyFolder(tmp_path / name).results()}

    together = results("together", {"one": [], "other": after})
    alone = results("alone", {"other": after})
    assert len([*(tmp_path / "together" / "runs").iterdir()]) == 1
    for fraction, mode in (("zero-shot", "adapted"), ("25%", "plain")):
        shared = together["other", fraction]
        assert shared.modes == alone["other", fraction].modes
        assert shared.modes[mode] != together["one", fraction].modes[mode]
        assert shared.recipe["adaptation"]["rate"] == 0.1


def test_shares_of_target_text_are_fine_tuned_on(study_file, corpora, tmp_path, run):
    values = json.loads(study_file.read_text())
    values |= {"fractions": [0, 0.25], "seeds": [1]}
    values["data"]["targets"].pop("bb")
    study_file.write_text(json.dumps(values))
    refused = run("experiment", study_file, "--output", tmp_path / "out")
    assert refused.code == 1
    assert "give --train aa=FILE" in refused.err
    values["data"]["target_train"] = {"aa": corpora["train"]}
    study_file.write_text(json.dumps(values))
    done = run("experiment", study_file, "--output", tmp_path / "out")
    assert done.code == 0, done.err
    results = {(c.system, c.fraction): c for c in StudyFolder(tmp_path / "out").results()}
    assert {*results} == {(s, t) for s in SYSTEMS for t in ("zero-shot", "25%")}
    assert results["ours", "25%"].reported_mode == "plain"  # a fine-tuned model does not adapt
    assert results["ours", "25%"].modes != results["ours", "zero-shot"].modes


def test_a_dry_run_tells_the_plan_and_trains_nothing(study_file, tmp_path, run):
    told = run("experiment", study_file, "--output", tmp_path / "out", "--dry-run")
    assert told.code == 0
    assert "8 trainings, 8 results, 0 of them there" in " ".join(told.out.split())
    assert "minutes" in told.out
    assert not (tmp_path / "out").exists()


def test_an_estimate_does_not_count_a_training_that_is_there(
    study_file, tmp_path, run, monkeypatch
):
    one_unit(study_file)
    monkeypatch.setattr(estimate, "_speed", lambda _unit: (10, 0.1, 0))
    results = plan_results(plan_system_runs(load_study(str(study_file), {})))
    runs = StudyFolder(tmp_path / "out").runs
    labeling = 0.1 * len(results[0].target.corpus)
    assert estimate.seconds_of(results, runs, 0) == pytest.approx(10 * 4 + labeling)
    assert run("experiment", study_file, "--output", tmp_path / "out").code == 0
    assert estimate.seconds_of(results, runs, 0) == pytest.approx(labeling)


def test_quick_is_one_seed_and_few_steps_unless_told_otherwise():
    study = quick(load_study("zero-shot", {"encoder": "mini", "change": ["meta.steps=7"]}))
    (system_run, *_) = [
        system_run for system_run in plan_system_runs(study) if system_run.system == "ours"
    ]
    assert study.seeds == [1]
    assert system_run.settings.meta.steps == 7
    assert system_run.settings.direct.steps == 120


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": {}}, "systems"),
        ({"seed": 3}, "seed"),
        ({"data": {"dev": "x"}}, "data.source: expected a corpus"),
        ({"fractions": "much"}, "fractions"),
        ({"fractions": [-0.5]}, "zero-shot: fractions.0: .*greater than or equal to 0"),
        ({"fractions": [1.5]}, "fractions.0"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"systems": {"a/../b": []}}, "systems.a/../b"),
    ],
)
def test_a_wrong_study_is_told_in_one_line(changes, message):
    with pytest.raises(SettingsError, match=message):
        plan_system_runs(load_study("zero-shot", changes))


def test_an_unknown_study_and_bad_files_are_told_in_one_line(run, corpora, tmp_path):
    for arguments, message in [
        (("experiment", "zero-shoot"), "expected a YAML file or a study of k, lambda"),
        (("experiment", "zero-shot", "--target", "es"), "--target: expected LANG=FILE"),
        (("experiment", "zero-shot", "--seeds", "a,b"), "--seeds: expected numbers"),
        (("experiment", "low-resource"), "give --source, --dev, --target and --train"),
        (
            ("experiment", "zero-shot", "--target", "aa=x.conll", "--target", "aa=y.conll"),
            "--target: expected a file for each language, found x.conll and y.conll for aa",
        ),
        (("experiment", "zero-shot", "--output", corpora["aa"]), "expected a folder for the study"),
        (("compare", corpora["aa"], tmp_path / "none"), "found nothing"),
        (("compare", corpora["aa"], corpora["aa"]), "found the same twice"),
        (("compare", tmp_path, tmp_path), "expected a study with results.jsonl"),
        (("compare", corpora["aa"], corpora["bb"]), "--gold: expected the file"),
    ]:
        told = run(*arguments)
        assert told.code == 1
        assert message in told.err
        assert len(told.err.strip().splitlines()) == 1


def test_types_that_the_source_does_not_have_are_refused(study_file, corpora):
    write_corpus(tiny.corpus(5).relabeled({"LOC": "GPE"}), corpora["aa"])
    with pytest.raises(DataError, match="found GPE; see metacross convert"):
        plan_system_runs(load_study(str(study_file), {}))


def test_target_text_with_more_types_than_the_target_is_refused_at_once(study_file, corpora):
    train = {"target_train": {"bb": corpora["train"]}}
    with pytest.raises(DataError, match=r"train\.conll: expected the labels PER .* found LOC too"):
        plan_system_runs(load_study(str(study_file), {}, data=train))


def test_target_text_of_no_target_is_refused(study_file, corpora):
    train = {"target_train": {"cc": corpora["train"]}}
    with pytest.raises(SettingsError, match="expected languages of the targets aa, bb, found cc"):
        plan_system_runs(load_study(str(study_file), {}, data=train))


def one_unit(study_file):
    values = json.loads(study_file.read_text())
    values |= {"systems": {"base": SYSTEMS["base"]}, "seeds": [1]}
    values["data"]["targets"].pop("bb")
    study_file.write_text(json.dumps(values))


def test_of_two_results_for_a_place_the_later_plan_counts(study_file, tmp_path, run):
    one_unit(study_file)
    output = tmp_path / "out"
    assert run("experiment", study_file, "--output", output).code == 0
    (stale,) = StudyFolder(output).results()
    shutil.rmtree(output / "runs")
    longer = ("--set", "direct.steps=60", "--set", "direct.learning_rate=1e-2")
    assert run("experiment", study_file, "--output", output, *longer).code == 0
    kept, last = StudyFolder(output).results()
    assert kept == stale
    assert last.recipe["direct"]["steps"] == 60
    assert last.f1 > stale.f1
    assert f"{100 * last.f1:.1f}" in (output / "report.md").read_text()
    assert run("experiment", study_file, "--output", output, *longer).code == 0
    assert StudyFolder(output).results() == [kept, last]


def test_a_study_that_adapts_otherwise_goes_on_with_its_trainings(study_file, tmp_path, run):
    one_unit(study_file)
    study_file.write_text(study_file.read_text().replace("run.method=direct", "run.method=meta"))
    output = tmp_path / "out"
    assert run("experiment", study_file, "--output", output).code == 0
    (weights,) = output.glob("runs/*/model.safetensors")
    made = weights.stat().st_mtime_ns
    otherwise = ("--set", "adaptation.learning_rate=0.1")
    again = run("experiment", study_file, "--output", output, *otherwise)
    assert again.code == 0, again.err
    before, after = StudyFolder(output).results()
    assert weights.stat().st_mtime_ns == made
    assert after.modes["plain"] == before.modes["plain"]
    assert after.modes["adapted"] != before.modes["adapted"]


def test_results_without_anything_else_are_kept_and_not_made_again(study_file, tmp_path, run):
    one_unit(study_file)
    assert run("experiment", study_file, "--output", tmp_path / "out").code == 0
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(tmp_path / "out" / "results.jsonl", alone)
    assert run("experiment", study_file, "--output", alone).code == 0
    assert StudyFolder(alone).results() == StudyFolder(tmp_path / "out").results()
    assert not (alone / "runs").exists()


def test_the_study_that_is_kept_asks_for_the_same_results(study_file, tmp_path, run):
    one_unit(study_file)
    output = tmp_path / "out"
    change = ("--set", "direct.steps=3", "--seeds", "7")
    assert run("experiment", study_file, *change, "--output", output).code == 0
    results = StudyFolder(output).results()
    kept = (output / "study.yaml").rename(tmp_path / "study.yaml")
    assert run("experiment", kept, "--output", output).code == 0
    assert StudyFolder(output).results() == results
    assert {result.key for result in plan_results(plan_system_runs(load_study(str(kept), {})))} == {
        result.key for result in results
    }
    assert "    seeds:\n    - 7\n" in (output / "report.md").read_text()


def test_a_cut_off_line_of_validations_does_not_stop_a_study(study_file, tmp_path, run):
    one_unit(study_file)
    output = tmp_path / "out"
    run("experiment", study_file, "--output", output)
    (before,) = StudyFolder(output).results()
    (file,) = output.glob("runs/*/training/targets.jsonl")
    file.write_text(file.read_text() + '\n{"step": 4, "f')
    shutil.rmtree(output / "results")
    (output / "results.jsonl").unlink()
    assert run("experiment", study_file, "--output", output).code == 0
    (after,) = StudyFolder(output).results()
    assert after.training.target_validations == before.training.target_validations


def test_damaged_predictions_are_told_with_their_place(study_file, tmp_path, run):
    one_unit(study_file)
    output = tmp_path / "out"
    run("experiment", study_file, "--output", output)
    (file,) = output.glob("predictions/*.jsonl")
    file.write_text("{}\n" + file.read_text())
    told = run("experiment", study_file, "--output", output)
    assert told.code == 1
    assert f"{file}:1: expected what a model found" in told.err


def test_studies_on_other_sentences_are_not_compared(study_file, corpora, tmp_path, run):
    one_unit(study_file)
    run("experiment", study_file, "--output", tmp_path / "first")
    other = ("--target", f"aa={corpora['dev']}")
    run("experiment", study_file, "--output", tmp_path / "second", *other)
    told = run("compare", tmp_path / "first", tmp_path / "second")
    assert told.code == 1
    assert "aa: expected the same sentences" in told.err


def test_what_the_command_says_comes_after_what_the_study_says(study_file, corpora):
    study = load_study(
        str(study_file), {}, data={"dev": "d"}, settings=["direct.learning_rate=0.5"]
    )
    assert study.change == [*tiny.FAST, *SHORT, "direct.learning_rate=0.5"]
    assert (study.data.dev, study.data.source) == ("d", corpora["train"])


def test_stopped_from_outside_it_stops_the_processes_that_share_the_work(study_file, tmp_path):
    output = tmp_path / "out"
    command = [sys.executable, "-m", "metacross", "experiment", str(study_file), "--jobs", "2"]
    slow = ["--set", "direct.steps=100000", "--set", "meta.steps=100000"]
    child = subprocess.Popen([*command, *slow, "--output", str(output)], stdout=-3, stderr=-3)
    deadline = time.monotonic() + 120
    while len([*output.glob("runs/*/training/log.jsonl")]) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    child.terminate()
    assert child.wait(timeout=60) == 1
    sizes = [path.stat().st_size for path in output.glob("runs/*/training/log.jsonl")]
    time.sleep(1)
    assert [path.stat().st_size for path in output.glob("runs/*/training/log.jsonl")] == sizes


def test_a_damaged_line_is_told_with_its_place(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"key": 1}\n')
    with pytest.raises(DataError, match=r"results\.jsonl:1: expected a result of a study"):
        StudyFolder(tmp_path).results()


def test_two_studies_are_compared_cell_by_cell(study_file, tmp_path, run):
    first, second = tmp_path / "first", tmp_path / "second"
    run("experiment", study_file, "--output", first)
    run("experiment", study_file, "--output", second, "--set", "adaptation.learning_rate=1e-2")
    compared = json.loads(run("compare", first, second, "--json").out)
    assert len(compared) == 4
    base = next(pair for pair in compared if pair["system"] == "base")
    assert base["a"] == base["b"]
    assert base["comparison"]["p_value"] == 1
    assert base["n_seeds"] == 2
    told = run("compare", first, second)
    assert "n.s." in told.out


def test_two_files_of_predictions_are_compared(corpora, run, tmp_path):
    other = tmp_path / "other.conll"
    write_corpus(tiny.corpus(16, seed=3).relabeled({"LOC": "PER"}), other)
    told = json.loads(run("compare", other, corpora["aa"], "--gold", corpora["aa"], "--json").out)
    assert told["comparison"]["difference"] > 0
    assert Path(corpora["aa"]).name in str([*told["systems"]])
