"""``metacross predict``, as a user runs it."""

import io
import json

import tiny


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
