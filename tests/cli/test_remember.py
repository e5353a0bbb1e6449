"""``metacross remember`` and ``metacross forget``, as a user runs them."""

import json
import shutil

import pytest

import tiny
from metacross.text.writing import write_corpus


@pytest.fixture
def model(trained_folder, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(trained_folder, copy)
    return copy


def test_what_is_remembered_is_listed_used_and_forgotten(run, model, tmp_path):
    corrected = tmp_path / "corrected.conll"
    write_corpus(tiny.corpus(4, seed=11), corrected)
    outcome = run("remember", model, corrected)
    assert outcome.code == 0, outcome.err
    assert "remembered 4 sentences; it remembers 4 now" in outcome.out

    listed = json.loads(run("remember", model, "--json").out)
    assert listed[0]["source"] == f"{corrected}:1"
    assert all("vector" not in item for item in listed)

    predicted = run("predict", model, corrected, "--adapt", "--to", "jsonl").out
    neighbors = [json.loads(line)["neighbors"] for line in predicted.splitlines()]
    for item, found in zip(listed, neighbors, strict=True):
        assert found[0]["remembered"] == item["id"]

    outcome = run("forget", model, listed[0]["id"])
    assert "forgot 1 sentences; it remembers 3 now" in outcome.out
    assert json.loads(run("forget", model, "--all", "--json").out) == {
        "forgotten": 3,
        "remembered": 0,
    }
    assert run("remember", model, "--json").out.strip() == "[]"


def test_a_wrong_call_gives_one_line(run, model, write):
    for arguments, says in [
        (["remember", "nowhere"], "nowhere: expected a model folder"),
        (["forget", model], "expected ids of remembered sentences, or --all"),
        (["forget", model, "abc"], "found abc"),
        (["forget", model, "abc", "--all"], "expected ids of remembered sentences, or --all"),
        (["remember", model, write("x.txt", "ana went")], "x.txt:1: expected labeled sentences"),
        (["forget", "nowhere", "--all"], "nowhere: expected a model folder"),
        (
            ["remember", model, write("u.conll", "ana B-FOO\n")],
            "u.conll: expected the entity types",
        ),
    ]:
        outcome = run(*arguments)
        assert outcome.code == 1
        (line,) = outcome.err.splitlines()
        assert says in line


def test_tasks_that_nobody_annotated_are_left_out_and_noted(run, model, write):
    tasks = [
        {"data": {"text": "ana went"}, "annotations": [{"result": []}]},
        {"data": {"text": "tom ran"}, "annotations": []},
    ]
    export = write("export.json", json.dumps(tasks))
    outcome = run("remember", model, export)
    assert outcome.code == 0, outcome.err
    assert "remembered 1 sentences; it remembers 1 now" in outcome.out
    assert f"{export}: left out 1 sentences without labels" in outcome.err
    checked = run("check", export)
    assert "0, in the 1 annotated ones" in checked.out


def test_what_lossy_leaves_out_is_said(run, model, write):
    record = {"text": "ana went", "label": [[0, 3, "PER"], [0, 8, "PER"]]}
    corrected = write("x.jsonl", json.dumps(record))
    outcome = run("remember", model, corrected, "--lossy")
    assert outcome.code == 0, outcome.err
    assert f"left out: {corrected}:1, label 1: expected entities that do not overlap" in outcome.err
