"""Baselines as systems of a study: planned by target, trained with their resources, reported."""

import json
import random
import re
import subprocess
import sys
import time

import pytest

import tiny
from metacross.baselines.catalog import BASELINES
from metacross.errors import SettingsError
from metacross.study.plan import load_study, study_names
from metacross.study.results import StudyFolder
from metacross.study.run_study import plan_study, run_study
from metacross.text.writing import write_corpus

SMALL = ("crf.iterations=10", "distillation.epochs=1", "distillation.batch_size=8")


def text_of(corpus, code):
    words = [sentence.words for sentence in corpus]
    return "".join(f"{' '.join(sentence)} {code}\n" for sentence in words)


@pytest.fixture
def baseline_study(study_file, write):
    """A source, two targets with the same labels, a CRF with a lexicon, and the base model."""
    values = json.loads(study_file.read_text())
    lexicon = "".join(f"{w}\t{w}\n" for w in sorted({w for s in tiny.corpus(60) for w in s.words}))
    targets = values["data"]["targets"]
    values["data"]["targets"], resources = {"aa": targets["aa"], "de": targets["bb"]}, {}
    for language, file in values["data"]["targets"].items():
        write_corpus(tiny.corpus(16, seed=ord(language[0])), file)
        resources[language] = {
            "lexicon": str(write(f"en-{language}.tsv", lexicon)),
            "raw_text": str(write(f"{language}.txt", text_of(tiny.corpus(12, seed=9), language))),
        }
    values["systems"] = {"base": ["direct"], "mayhew": ["baseline:mayhew"]}
    values["set"] = [*values["set"], *SMALL]
    values["data"]["resources"] = resources
    study_file.write_text(json.dumps(values))
    return study_file


def changed(study_file, **changes):
    values = json.loads(study_file.read_text()) | changes
    study_file.write_text(json.dumps(values))


def trained_by_meta(runs):
    """The logs of all meta-trainings, with the time of each step, and their folders."""
    logs = {}
    for path in runs.rglob("training/run.json"):
        if json.loads(path.read_text())["recipe"]["run"]["method"] == "meta":
            logs.setdefault(path.with_name("log.jsonl").read_text(), []).append(path.parent.parent)
    return logs


def with_one_target(study_file, systems):
    values = json.loads(study_file.read_text())
    values["data"]["targets"].pop("de"), values["data"]["resources"].pop("de")
    changed(study_file, data=values["data"], systems=systems, seeds=[1])


def test_a_baseline_is_trained_for_each_target_and_once_for_all_seeds(baseline_study):
    plan = plan_study(baseline_study)
    folders = {p.system_run.folder for p in plan.results if p.system_run.system == "mayhew"}
    assert folders == {"mayhew_LOC-PER_aa_seed-1", "mayhew_LOC-PER_de_seed-1"}
    assert len(plan.results) == 8
    base = {p.system_run.folder for p in plan.results if p.system_run.system == "base"}
    assert base == {"base_LOC-PER_seed-1", "base_LOC-PER_seed-2"}


def test_a_baseline_with_randomness_is_trained_for_each_seed(baseline_study):
    changed(baseline_study, systems={"base": ["direct"], "tsl": ["baseline:tsl"]})
    folders = {p.system_run.folder for p in plan_study(baseline_study).results}
    assert {"tsl_LOC-PER_aa_seed-1", "tsl_LOC-PER_aa_seed-2"} <= folders


def test_keys_follow_the_contents_of_resources_and_the_settings(baseline_study, tmp_path):
    def keys(**options):
        plan = plan_study(baseline_study, **options)
        return {(p.system_run.system, p.target.name): p.key for p in plan.results}

    before = keys()
    assert keys() == before
    with (tmp_path / "en-aa.tsv").open("a") as file:
        file.write("new\tnuevo\n")
    after = keys()
    assert after["mayhew", "aa"] != before["mayhew", "aa"]
    assert after["mayhew", "de"] == before["mayhew", "de"]
    assert after["base", "aa"] == before["base", "aa"]
    assert keys(set=["knn.neighbors=3"]) == after  # mayhew does not read it
    other = keys(set=["crf.l1=0.5"])
    assert other["mayhew", "de"] != before["mayhew", "de"]
    assert other["base", "de"] == before["base", "de"]


def test_a_missing_resource_is_told_before_anything_is_trained(baseline_study):
    changed(baseline_study, systems={"x": ["baseline:tsai"]})
    with pytest.raises(SettingsError, match=r"gazetteer for aa; give --resource aa\.gaz"):
        plan_study(baseline_study)
    changed(baseline_study, systems={"x": ["baseline:foo"]})
    with pytest.raises(SettingsError, match=r"systems.x: expected a baseline of"):
        plan_study(baseline_study)


def test_the_target_of_a_baseline_must_be_named_by_its_language(baseline_study, corpora):
    with pytest.raises(SettingsError, match="expected targets named by their language"):
        plan_study(baseline_study, targets={"news": corpora["aa"]}, resources={})


@pytest.mark.slow
def test_a_study_with_baselines_runs_resumes_and_reports(baseline_study, tmp_path):
    changed(baseline_study, seeds=[1, 2])
    output = tmp_path / "out"
    study = run_study(baseline_study, output=output)
    assert len(study.results) == 8
    by_seed = [r.counts for r in study.results if (r.system, r.target) == ("mayhew", "aa")]
    assert by_seed[0] == by_seed[1]
    report = (output / "report.md").read_text()
    assert "## Systems and their resources" in report
    row = next(line for line in report.splitlines() if line.startswith("| mayhew | after Mayhew"))
    assert "raw text, lexicon" in row
    assert re.search(r"p [<=] 0\.\d+", row)
    for path in (output / "results").glob("*.json"):  # a kill before the results were written
        path.unlink()
    (output / "results.jsonl").unlink()
    again = run_study(baseline_study, output=output)
    assert [r.counts for r in again.results] == [r.counts for r in study.results]


@pytest.mark.slow
def test_killed_at_random_moments_it_resumes_to_the_same_results(baseline_study, tmp_path):
    systems = {"base": ["direct"], "mayhew": ["baseline:mayhew"], "tsl": ["baseline:tsl"]}
    changed(baseline_study, systems=systems, seeds=[1])
    command = [sys.executable, "-m", "metacross", "experiment", str(baseline_study), "--output"]
    start = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    duration = time.monotonic() - start
    rng = random.Random()
    for _ in range(2):
        child = subprocess.Popen([*command, str(tmp_path / "killed")], stdout=-3, stderr=-3)
        time.sleep(rng.uniform(0.3, 1.0) * duration)
        child.kill()
        child.wait()
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    results = {
        name: {(r.system, r.target): r.counts for r in StudyFolder(tmp_path / name).results()}
        for name in ("whole", "killed")
    }
    assert len(results["whole"]) == 6
    assert results["killed"] == results["whole"]


@pytest.mark.slow
def test_published_scores_are_in_italics_and_low_resource_text_is_learned(
    baseline_study, corpora, tmp_path
):
    values = json.loads(baseline_study.read_text())
    data = values["data"]
    data["targets"] = {"es": corpora["aa"]}
    data["target_train"] = {"es": corpora["train"]}
    data["resources"] = {"es": data["resources"]["aa"]}
    changed(baseline_study, data=data, seeds=[1], fractions=[0.0, 0.5])
    study = run_study(baseline_study, output=tmp_path / "out")
    report = (tmp_path / "out" / "report.md").read_text()
    assert "| *mayhew, published* | *Mayhew et al. 2017* |  | *65.95* |" in report
    assert "raw text, lexicon, 50% of the labeled target text" in report
    more = study.f1("mayhew", "es", fraction=0.5)
    assert more >= study.f1("mayhew", "es")
    html = (tmp_path / "out" / "report.html").read_text()
    assert '<tr class="quoted">' in html


@pytest.mark.slow
def test_models_of_the_source_are_shared_by_targets(baseline_study, tmp_path):
    changed(baseline_study, systems={"tsl": ["baseline:tsl"]}, seeds=[1])
    run_study(baseline_study, output=tmp_path / "out")
    shared = [path for path in (tmp_path / "out/runs/shared").iterdir() if path.is_dir()]
    assert len(shared) == 1
    results = StudyFolder(tmp_path / "out").results()
    assert {result.digests["baseline"] for result in results} == {"tsl"}


@pytest.mark.parametrize("name", ["baselines", "low-resource-baselines", "beyond"])
def test_the_built_in_studies_name_baselines_that_exist(name):
    assert name in study_names()
    study = load_study(name)
    names = [study.baseline(system) for system in study.systems]
    assert set(filter(None, names)) <= BASELINES.keys()
    assert names[0] is None  # base, which the others are compared with
    assert any(names)


def low_resource(baseline_study, corpora, **changes):
    """The study with labeled target text, and a system that needs it."""
    values = json.loads(baseline_study.read_text())
    data = values["data"]
    data["targets"] = {"es": corpora["aa"]}
    data["target_train"] = {"es": corpora["train"]}
    data["resources"] = {"es": data["resources"]["aa"]}
    systems = {"base": ["direct"], "yang": ["baseline:yang"]}
    changed(baseline_study, **{"data": data, "systems": systems, "seeds": [1], **changes})


def test_a_zero_shot_fraction_is_refused_for_a_system_that_needs_labeled_target_text(
    baseline_study, corpora
):
    low_resource(baseline_study, corpora, fractions=[0.0, 0.5])
    with pytest.raises(SettingsError, match=r"systems.yang: expected fractions above 0, because"):
        plan_study(baseline_study)
    changed(baseline_study, fractions=[0.5])
    assert len(plan_study(baseline_study).results) == 2


@pytest.mark.slow
def test_a_system_that_needs_labeled_target_text_is_trained_for_each_fraction(
    baseline_study, corpora, tmp_path
):
    values = json.loads(baseline_study.read_text())
    small = ["two_languages.steps=3", "bilstm_crf.states=4", "bilstm_crf.batch_size=4"]
    low_resource(baseline_study, corpora, fractions=[0.2, 0.5], set=[*values["set"], *small])
    study = run_study(baseline_study, output=tmp_path / "out")
    results = [result for result in study.results if result.system == "yang"]
    assert [result.fraction for result in results] == [0.2, 0.5]
    assert all(result.training.seconds > 0 for result in results)
    runs = tmp_path / "out" / "runs" / "yang_LOC-PER_es_seed-1"
    assert {path.name for path in runs.iterdir()} == {"es-20-seed-1", "es-50-seed-1"}
    assert "| yang | after Yang 2017" in (tmp_path / "out" / "report.md").read_text()
    again = run_study(baseline_study, output=tmp_path / "out")
    assert len(again.results) == len(study.results)


def test_a_system_has_the_resources_that_it_uses_and_no_others(baseline_study):
    systems = {name: [f"baseline:{name}"] for name in ("crf", "mayhew", "tsl")}
    changed(baseline_study, systems={"base": ["direct"], **systems})
    given = {
        p.system_run.system: set(p.system_run.resources.given())
        for p in plan_study(baseline_study).results
    }
    assert given == {
        "base": set(),
        "crf": set(),
        "mayhew": {"lexicon", "raw_text"},
        "tsl": {"raw_text"},
    }


@pytest.mark.slow
def test_without_a_zero_shot_fraction_no_model_without_target_text_is_trained(
    baseline_study, corpora, tmp_path
):
    systems = {"base": ["direct"], "mayhew": ["baseline:mayhew"], "knn": ["baseline:knn"]}
    low_resource(baseline_study, corpora, fractions=[0.2, 0.5], systems=systems)
    study = run_study(baseline_study, output=tmp_path / "out")
    runs = tmp_path / "out" / "runs"
    trained = {path.name for path in (runs / "mayhew_LOC-PER_es_seed-1").iterdir()}
    assert trained == {"es-20-seed-1", "es-50-seed-1"}
    shared = [path.name for path in (runs / "shared").iterdir() if path.is_dir()]
    assert [name.partition("_")[0] for name in shared] == ["crf", "crf"]  # knn takes base
    folders = {r.training.folder for r in study.results if r.system == "mayhew"}
    assert folders == {f"mayhew_LOC-PER_es_seed-1/{name}" for name in trained}
    assert "share one training run" not in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.slow
def test_the_models_of_ordinary_systems_teach_and_a_teacher_is_trained_once(
    baseline_study, tmp_path
):
    names = ["tsl", "ours-tsl", "ours-translated", "ours-translated-tsl", "data-transfer"]
    systems = {name: [f"baseline:{name}"] for name in [*names, "unitrans"]}
    with_one_target(baseline_study, {"base": ["direct"], "ours": [], **systems})
    together = run_study(baseline_study, output=tmp_path / "out")
    runs = tmp_path / "out" / "runs"
    assert len([path for path in (runs / "shared").iterdir() if path.is_dir()]) == 2
    # base, ours, two on translated text, four students, and one that was trained further
    assert len(list(runs.rglob("training/run.json"))) == 9
    for name in systems:
        changed(baseline_study, systems={name: systems[name]})
        alone = run_study(baseline_study, output=tmp_path / name)
        assert alone.results[0].counts == together.grid.at(0.0, name, "aa")[1].counts


@pytest.mark.slow
def test_an_ordinary_system_takes_the_model_that_a_baseline_has_trained(baseline_study, tmp_path):
    with_one_target(baseline_study, {"ours-crf": ["baseline:ours-crf"], "ours": []})
    together = run_study(baseline_study, output=tmp_path / "out")
    ((log, folders),) = trained_by_meta(tmp_path / "out" / "runs").items()
    assert log
    assert {folder.name for folder in folders} > {"ours_LOC-PER_seed-1"}
    changed(baseline_study, systems={"ours": []})
    alone = run_study(baseline_study, output=tmp_path / "alone")
    assert alone.results[0].counts == together.grid.at(0.0, "ours", "aa")[1].counts
    assert not (tmp_path / "alone" / "runs" / "shared").exists()


@pytest.mark.slow
def test_processes_that_need_the_same_model_train_it_once(baseline_study, tmp_path):
    with_one_target(baseline_study, {"ours": [], "ours-crf": ["baseline:ours-crf"]})
    study = run_study(baseline_study, output=tmp_path / "out", jobs=2)
    assert len(study.results) == 2
    assert len(trained_by_meta(tmp_path / "out" / "runs")) == 1


def test_what_a_baseline_does_after_training_belongs_to_its_training(baseline_study):
    systems = {
        "mayhew": ["baseline:mayhew"],
        "ours-crf": ["baseline:ours-crf"],
        "bold": ["baseline:ours-crf", "adaptation.learning_rate=0.05"],
        "ours": [],
        "bold-ours": ["adaptation.learning_rate=0.05"],
    }
    changed(baseline_study, systems=systems, seeds=[1])
    runs = {p.system_run.system: p.system_run for p in plan_study(baseline_study).results}
    assert runs["bold-ours"].folder == runs["ours"].folder  # it is only loaded again
    assert runs["bold"].folder != runs["ours-crf"].folder
    assert runs["bold"].training_settings.adaptation.learning_rate == 0.05


def test_with_capitals_that_are_drawn_a_crf_is_random(baseline_study):
    systems = {"crf": ["baseline:crf"], "capitals": ["baseline:crf", "data.casing=nouns"]}
    changed(baseline_study, systems=systems, seeds=[1, 2])
    folders = {p.system_run.folder for p in plan_study(baseline_study).results}
    assert "crf_LOC-PER_aa_seed-2" not in folders
    assert {"capitals_LOC-PER_aa_seed-1", "capitals_LOC-PER_aa_seed-2"} <= folders
