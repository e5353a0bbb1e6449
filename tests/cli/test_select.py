"""``metacross select``, as a user runs it."""

import json

import pytest

import metacross
from metacross.text.reading import ReadOptions, read_corpus


def test_selected_sentences_are_lines_with_rank_and_reasons(run, trained_folder, files):
    outcome = run("select", trained_folder, files["target"], "--n", "5", "--by", "mixed")
    assert outcome.code == 0, outcome.err
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [record["rank"] for record in records] == [1, 2, 3, 4, 5]
    assert {*records[0]["reasons"]} == {"disagreement", "uncertainty", "far"}
    words = {sentence.words for sentence in metacross.read_corpus(files["target"])}
    assert {tuple(record["tokens"]) for record in records} <= words


def test_label_studio_gets_tasks_whose_scores_keep_the_order(run, trained_folder, files, tmp_path):
    tasks = tmp_path / "tasks.json"
    outcome = run(
        "select", trained_folder, files["target"], "--n", "4", "--by", "uncertainty",
        "--to", "label-studio", "--output", tasks,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    written = json.loads(tasks.read_text())
    assert [task["predictions"][0]["score"] for task in written] == [0.25, 0.5, 0.75, 1]
    assert [task["data"]["rank"] for task in written] == [1, 2, 3, 4]
    assert all(task["data"]["reasons"]["uncertainty"] > 0 for task in written)
    assert len(read_corpus(tasks, options=ReadOptions(annotator="model"))) == 4


@pytest.mark.parametrize(
    ("to", "name"), [("doccano", "x.jsonl"), ("prodigy", "x.jsonl"), ("brat", "x.ann"),
                     ("conllu", "x.conllu"), ("argilla", "x.json"), ("conll", "x.conll")],
)  # fmt: skip
def test_every_tool_gets_the_sentences(run, trained_folder, files, tmp_path, to, name):
    outcome = run(
        "select", trained_folder, files["target"], "--n", "4", "--to", to,
        "--output", tmp_path / name,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert len(read_corpus(tmp_path / name)) == 4


def test_labeled_sentences_are_left_out_and_a_short_pool_is_noted(run, trained_folder, files):
    outcome = run(
        "select", trained_folder, files["target"], "--n", "50", "--labeled", files["train"]
    )
    assert outcome.code == 0
    n_chosen = len(outcome.out.splitlines())
    assert 0 < n_chosen < 50
    assert f"chose all {n_chosen} sentences; there are no more" in outcome.err


def test_an_unknown_way_gives_one_line(run, trained_folder, files):
    outcome = run("select", trained_folder, files["target"], "--by", "magic")
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert "expected one of mixed, disagreement, uncertainty, far, diverse, random" in line


OVERLAPPING = {"text": "ana ruiz ran", "label": [[0, 8, "PER"], [0, 3, "PER"]]}


@pytest.mark.parametrize("command", ["select", "predict"])
def test_the_options_that_a_message_names_exist(run, trained_folder, write, command):
    """A pool in the format of a tool may have labels that cannot be read."""
    overlapping = write("x.jsonl", json.dumps(OVERLAPPING))
    refused = run(command, trained_folder, overlapping)
    assert refused.code == 1
    assert "--lossy leaves it out" in refused.err
    outcome = run(command, trained_folder, overlapping, "--lossy")
    assert outcome.code == 0, outcome.err
    assert "left out: " in outcome.err

    results = [[], [{"type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}}]]
    annotations = [{"completed_by": n, "result": result} for n, result in enumerate(results)]
    tasks = write("x.json", json.dumps([{"data": {"text": "ana ran"}, "annotations": annotations}]))
    assert "--annotator first" in run(command, trained_folder, tasks).err
    assert run(command, trained_folder, tasks, "--annotator", "first").code == 0

    latin = write("x.txt", "España".encode("latin-1"))
    assert "--encoding latin-1" in run(command, trained_folder, latin).err
    assert run(command, trained_folder, latin, "--encoding", "latin-1").code == 0


def test_labeled_sentences_are_split_as_those_of_the_pool(run, trained_folder, write):
    pool = write("pool.txt", "L'homme arrive.\nAna dort.\n")
    labeled = write("labeled.jsonl", json.dumps({"text": "L'homme arrive.", "label": []}))
    outcome = run("select", trained_folder, pool, "--language", "fr", "--labeled", labeled)
    assert outcome.code == 0, outcome.err
    (record,) = map(json.loads, outcome.out.splitlines())
    assert record["text"] == "Ana dort."
