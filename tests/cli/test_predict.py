"""``metacross predict``, as a user runs it."""

import io
import json

import pytest

import metacross
import tiny
from metacross.text.reading import ReadOptions, read_corpus


def test_predict_reads_text_from_the_standard_input_and_writes_conll(
    run, trained_folder, monkeypatch
):
    text = b"ana went to york.\n\ntom saw the rain.\n"

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    outcome = run("predict", trained_folder, "-", "--no-adapt")
    assert outcome.code == 0
    words = [line.split("\t")[0] for line in outcome.out.splitlines()]
    assert words == ["ana", "went", "to", "york", ".", "", "tom", "saw", "the", "rain", ".", ""]


def test_predict_finds_out_that_the_standard_input_is_conll(run, trained_folder, monkeypatch):
    text = b"ana B-PER\nwent O\n\ntom B-PER\n\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    outcome = run("predict", trained_folder, "-", "--no-adapt")
    words = [line.split("\t")[0] for line in outcome.out.splitlines()]
    assert words == ["ana", "went", "", "tom", ""]


def test_predicted_conll_scores_as_evaluate_says(run, trained_folder, files, tmp_path):
    (result,) = json.loads(run("evaluate", trained_folder, files["target"], "--json").out)
    predicted = tmp_path / "predicted.conll"
    predicted.write_text(run("predict", trained_folder, files["target"], "--adapt").out)
    scored = json.loads(run("score", files["target"], predicted, "--json").out)
    assert scored["systems"][str(predicted)]["overall"] == result["adapted"]["overall"]


def test_each_sentence_of_a_line_is_a_record_that_says_where_it_is(run, trained_folder, write):
    lines = ["ana went to york. tom saw the rain.", "bern"]
    outcome = run("predict", trained_folder, write("x.txt", "\n".join(lines)), "--to", "jsonl")
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(record["line"], record["start"]) for record in records] == [(1, 0), (1, 18), (2, 0)]
    for record in records:
        assert lines[record["line"] - 1].startswith(record["text"], record["start"])


def test_offsets_of_raw_text_point_into_it(run, trained_folder, write):
    lines = [f"  {'  '.join(sentence.words)}" for sentence in tiny.corpus(20, seed=4)]
    path = write("x.txt", "\n".join(lines))
    outcome = run("predict", trained_folder, path, "--to", "jsonl")
    records = [json.loads(line) for line in outcome.out.splitlines()]
    spans = [(record, span) for record in records for span in record["spans"]]
    assert spans
    for record, span in spans:
        assert record["text"][span["start_char"] : span["end_char"]] == span["text"]


@pytest.mark.parametrize(
    ("to", "name"),
    [
        ("label-studio", "x.json"),
        ("argilla", "x.json"),
        ("doccano", "x.jsonl"),
        ("prodigy", "x.jsonl"),
        ("conllu", "x.conllu"),
        ("brat", "x.ann"),
    ],
)
def test_predictions_for_a_tool_read_back_as_the_model_made_them(
    run, trained_folder, files, tmp_path, to, name
):
    outcome = run(
        "predict", trained_folder, files["target"], "--to", to, "--output", tmp_path / name
    )
    assert outcome.code == 0, outcome.err
    model = metacross.load(trained_folder, device="cpu")
    target = metacross.read_corpus(files["target"])
    expected = [prediction.labeled for prediction in model.predict_stream(target)]
    keeps_apart = to in ("label-studio", "argilla", "prodigy")
    options = ReadOptions(annotator="model" if keeps_apart else None)
    assert list(read_corpus(tmp_path / name, options=options)) == expected
    assert any(sentence.spans for sentence in expected)


def test_a_prediction_for_label_studio_says_what_it_learned_from(run, trained_folder, files):
    outcome = run("predict", trained_folder, files["target"], "--to", "label-studio")
    tasks = json.loads(outcome.out)
    predictions = [task["predictions"][0] for task in tasks]
    assert all(0 <= prediction["score"] <= 1 for prediction in predictions)
    regions = [region for prediction in predictions for region in prediction["result"]]
    assert regions
    for region in regions:
        assert region["meta"]["text"][0].startswith("learned from: ")
        assert 0 <= region["score"] <= 1


def test_brat_needs_a_file_to_write_to(run, trained_folder, files):
    outcome = run("predict", trained_folder, files["target"], "--to", "brat")
    assert outcome.code == 1
    assert "expected --output FILE.ann" in outcome.err
