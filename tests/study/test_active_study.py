"""The study of active learning, tiny."""

import dataclasses
import json

import numpy as np
import pytest

import metacross
import tiny
from metacross.adaptation.selection import SelectBy
from metacross.errors import SettingsError
from metacross.study.active_results import NOTHING, ActiveFolder, ActiveResult
from metacross.study.active_study import ActiveStudy, run_active_study
from metacross.study.plan import Study
from metacross.study.report.active_report import ActiveGrid, write_active_report
from metacross.text.writing import write_corpus
from metacross.training.sampling import random_subset


@pytest.fixture
def active(trained_folder, tmp_path) -> ActiveStudy:
    files = {}
    for name, n, seed in [("source", 20, 0), ("dev", 8, 1), ("test", 15, 2), ("pool", 40, 3)]:
        files[name] = str(tmp_path / f"{name}.conll")
        write_corpus(tiny.corpus(n, seed=seed), files[name])
    study = Study(
        title="x",
        systems={"ours": []},
        seeds=[1, 2],
        recipe="paper",
        set=list(tiny.FAST),
        data={
            "source": files["source"],
            "dev": files["dev"],
            "targets": {"aa": files["test"]},
            "target_train": {"aa": files["pool"]},
        },
    )
    return ActiveStudy(
        study,
        sizes=(3, 8),
        ways=(SelectBy.RANDOM, SelectBy.MIXED),
        pool_sentences=25,
        models={1: trained_folder, 2: trained_folder},
    )


@pytest.mark.slow
def test_every_way_is_measured_at_every_size_and_resumed(active, tmp_path):
    folder = ActiveFolder(tmp_path / "study")
    results = run_active_study(active, folder)
    assert len(results) == 2 * (1 + 2 * 2 * 3)
    assert folder.results() == results
    for result in results:
        assert len(result.positions) == result.size == len(set(result.positions))
        assert len(result.counts) == 15
    by_place = {(r.seed, r.way, r.learning, r.size): r for r in results}
    for seed in (1, 2):
        for way in ("random", "mixed"):
            small, large = (by_place[seed, way, "remember", size].positions for size in (3, 8))
            assert large[:3] == small
            same = {
                by_place[seed, way, learning, 8].positions for learning in ("both", "fine-tune")
            }
            assert same == {large}
    assert by_place[1, "random", "both", 8].seconds >= by_place[1, "random", "fine-tune", 8].seconds

    seen = []
    again = run_active_study(active, folder, on_result=seen.append)
    assert again == results == seen
    lines = folder.results_file.read_text().splitlines()
    assert len(lines) == len(results)
    folder.results_file.write_text("\n".join(lines[:7]) + "\n" + lines[7][:30])  # a kill cut it off
    assert [r.f1 for r in run_active_study(active, folder)] == [r.f1 for r in results]
    assert len(folder.results_file.read_text().splitlines()) == len(results)

    report = write_active_report(folder, "Active")
    page = report.read_text()
    assert "labeled sentences</text>" in page
    text = (tmp_path / "study" / "report.md").read_text()
    assert "Seconds to learn" in text
    assert "Difference from random" in text


@pytest.mark.slow
def test_a_remembering_model_scores_as_one_that_was_taught_by_hand(
    active, tmp_path, trained_folder
):

    small = dataclasses.replace(
        active, ways=(SelectBy.RANDOM,), sizes=(8,), learnings=("remember",)
    )
    study = active.study.model_copy(update={"seeds": [1]})
    small = dataclasses.replace(small, study=study)
    _, result = run_active_study(small, ActiveFolder(tmp_path / "study"))

    pool = random_subset(metacross.read_corpus(study.data.target_train["aa"], language="aa"), 25, 1)
    model = metacross.load(trained_folder, device="cpu")
    model.remember(pool[position] for position in result.positions)
    gold = metacross.read_corpus(study.data.targets["aa"], language="aa")
    assert model.evaluate(gold).adapted.overall.f1 == pytest.approx(result.f1)
    assert model.evaluate(gold).plain.overall.gold == sum(row[2] for row in result.counts)


def made_up(way: str, learning: str, size: int, seed: int, correct: int) -> ActiveResult:
    counts = tuple((1 if i < correct else 0, 1, 1) for i in range(100))
    return ActiveResult(
        key=f"{way}{learning}{size}{seed}",
        target="aa",
        seed=seed,
        way=way,
        learning=learning,
        size=size,
        positions=tuple(range(size)),
        counts=counts,
        seconds=1.5,
    )


@pytest.fixture
def grid() -> ActiveGrid:
    """Far is much better than random, uncertainty is not."""
    results = [made_up(NOTHING, NOTHING, 0, seed, 40) for seed in (1, 2)]
    for seed in (1, 2):
        for way, correct in (("far", 80), ("random", 50), ("uncertainty", 51)):
            results.append(made_up(way, "remember", 10, seed, correct + seed))
    return ActiveGrid(tuple(results))


def test_a_way_wins_only_if_it_beats_random_significantly(grid):
    assert grid.ways[0] == "random"
    assert [(way, learning) for way, learning, _ in grid.winners()] == [("far", "remember")]
    comparison = grid.comparison(["aa"], "far", "remember", [10])
    assert comparison.difference == pytest.approx(0.3)
    assert grid.comparison(["aa"], "random", "remember", [10]) is None
    assert grid.mean("aa", "random", "remember", 10).mean == pytest.approx(51.5)
    assert grid.mean("aa", "random", "remember", 0).mean == pytest.approx(40)


def test_the_report_says_which_way_wins(grid, tmp_path):
    folder = ActiveFolder(tmp_path)
    for result in grid.results:
        folder.add(result)
    write_active_report(folder, "Active")
    text = (tmp_path / "report.md").read_text()
    assert "far beats random choice with remember, over all targets and sizes: +30.0 points" in text
    assert "uncertainty beats" not in text
    assert "| remember | 40.0 ± 0.0 | 51.5 ± 0.7 |" in text


def test_no_winner_is_said_too(grid, tmp_path):
    folder = ActiveFolder(tmp_path)
    for result in grid.results:
        if result.way != "far":
            folder.add(result)
    write_active_report(folder, "Active")
    assert "No way of choosing beats random choice" in (tmp_path / "report.md").read_text()


def test_counts_are_summed_by_sentence(grid):
    """One sentence is one unit of the test, however many seeds there are."""
    result = grid.at("aa", "far", "remember", 10)[1]
    np.testing.assert_array_equal(result.sentence_counts.sum(axis=0), [81, 100, 100])


@pytest.mark.parametrize("sizes", [(), (0, 5), (5, 5), (9, 3)])
def test_sizes_must_ascend(sizes):
    study = Study(title="x", systems={"ours": []})
    with pytest.raises(SettingsError, match="--sizes: expected ascending numbers"):
        ActiveStudy(study, sizes=sizes)


@pytest.mark.slow
def test_the_command_trains_measures_and_reports(run, encoders, tmp_path):
    files = {name: tmp_path / f"{name}.conll" for name in ("train", "dev", "target", "pool")}
    for seed, path in enumerate(files.values()):
        write_corpus(tiny.corpus(20, seed=seed), path)
    arguments = [
        "experiment", "active", "--encoder", encoders["bert"], "--recipe", "paper",
        "--source", files["train"], "--dev", files["dev"], "--target", f"aa={files['target']}",
        "--train", f"aa={files['pool']}", "--seeds", "3", "--sizes", "4", "--ways", "random,far",
        "--learn-by", "remember", "--pool", "20", "--output", tmp_path / "study",
    ]  # fmt: skip
    for setting in tiny.FAST:
        arguments += ["--set", setting]
    outcome = run(*arguments)
    assert outcome.code == 0, outcome.err
    assert "Saved 3 results" in outcome.out
    assert "aa, seed 3, far, remember, 4 sentences: F1" in outcome.err
    lines = (tmp_path / "study" / "active.jsonl").read_text().splitlines()
    assert [json.loads(line)["way"] for line in lines] == ["nothing", "random", "far"]


def test_options_of_the_study_are_refused_elsewhere(run):
    outcome = run("experiment", "demo", "--sizes", "4")
    assert outcome.code == 1
    assert "expected only with the study active" in outcome.err
    outcome = run("experiment", "active", "--ways", "magic")
    assert outcome.code == 1
    assert "--ways: expected some of mixed" in outcome.err


def test_a_target_without_a_pool_is_refused_before_anything_is_trained(run, tmp_path):
    outcome = run("experiment", "active", "--output", tmp_path / "study")
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert "give --source, --dev, --target and --train" in line
    assert not (tmp_path / "study").exists()


def test_a_pool_smaller_than_every_size_is_refused_before_anything_is_trained(active, tmp_path):
    small = dataclasses.replace(active, sizes=(26, 30), models={})
    with pytest.raises(SettingsError) as refusal:
        run_active_study(small, ActiveFolder(tmp_path / "study"))
    assert str(refusal.value) == (
        "--sizes: expected numbers up to 25, because there are no more sentences of aa to choose "
        "from, found 26, 30"
    )
    assert not (tmp_path / "study").exists()


def only_scored(active, folder, *changes):
    """The results of a study that scores the given model of one seed and learns nothing."""
    study = active.study.model_copy(update={"seeds": [1], "set": [*active.study.set, *changes]})
    return run_active_study(dataclasses.replace(active, study=study, ways=()), folder)


def test_a_given_model_takes_the_settings_after_training_that_are_set(active, tmp_path):
    folder = ActiveFolder(tmp_path / "study")
    (before,) = only_scored(active, folder)
    for change in ("adaptation.learning_rate=0.5", "fine_tuning.epochs=2"):
        (after,) = only_scored(active, folder, change)
        assert after.key != before.key
    (result,) = only_scored(active, folder, "prediction.decoding=argmax", "adaptation.steps=3")
    model = metacross.load(
        active.models[1],
        device="cpu",
        prediction={"decoding": "argmax"},
        adaptation={"steps": 3},
    )
    gold = metacross.read_corpus(active.study.data.targets["aa"], language="aa")
    assert model.evaluate(gold).adapted.overall.f1 == pytest.approx(result.f1)


def test_a_given_model_keeps_its_own_settings_where_only_the_recipe_differs(active, tmp_path):
    folder = ActiveFolder(tmp_path / "study")
    (before,) = only_scored(active, folder)
    study = active.study.model_copy(update={"recipe": "mini"})
    (after,) = only_scored(dataclasses.replace(active, study=study), folder)
    assert after.key == before.key


def test_a_setting_of_training_is_refused_where_all_models_are_given(run, trained_folder, tmp_path):
    outcome = run(
        "experiment", "active", "--seeds", "1", "--model", f"1={trained_folder}",
        "--set", "meta.steps=9", "--output", tmp_path / "study",
    )  # fmt: skip
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert "--set meta.steps: expected a setting of adaptation, prediction, fine_tuning" in line


def test_a_pool_of_copies_is_filled_up_at_random(active, tmp_path):
    copies = tmp_path / "copies.conll"
    write_corpus([tiny.corpus(1, seed=3)[0]] * 4, copies)
    data = active.study.data.model_copy(update={"target_train": {"aa": str(copies)}})
    active = dataclasses.replace(
        active,
        study=active.study.model_copy(update={"data": data, "seeds": [1]}),
        sizes=(2, 3),
        ways=(SelectBy.RANDOM,),
        learnings=("remember",),
    )
    results = run_active_study(active, ActiveFolder(tmp_path / "study"))
    assert [result.size for result in results] == [0, 2, 3]
