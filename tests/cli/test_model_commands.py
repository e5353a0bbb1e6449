"""The commands around a model, as a user runs them."""

import io
import json

import pytest

import metacross
import tiny
from metacross.text.writing import write_corpus


@pytest.fixture
def files(tmp_path):
    """Source, dev and target corpora as files."""
    paths = {}
    for name, n_sentences, seed in (("train", 30, 0), ("dev", 12, 1), ("target", 20, 2)):
        paths[name] = tmp_path / f"{name}.conll"
        write_corpus(tiny.corpus(n_sentences, seed), paths[name])
    return paths


def sets(*overrides):
    return [word for override in (*tiny.FAST, *overrides) for word in ("--set", override)]


@pytest.mark.parametrize("family", ["bert", "xlm-r", "distilbert"])
def test_the_whole_flow_on_every_family(run, files, encoders, tmp_path, family):
    folder = tmp_path / "model"
    trained = run(
        "train", "--recipe", "paper", "--source", files["train"], "--dev", files["dev"],
        "--encoder", encoders[family], "--output", folder, *sets(),
    )  # fmt: skip
    assert trained.code == 0, trained.err
    assert "a model for LOC, PER" in trained.out
    assert "dev F1" in trained.err

    evaluated = run("evaluate", folder, files["target"], "--json")
    (result,) = json.loads(evaluated.out)
    assert {"plain", "adapted", "comparison"} <= result.keys()
    assert 0 <= result["comparison"]["p_value"] <= 1

    predicted = run("predict", folder, files["target"], "--to", "jsonl")
    records = [json.loads(line) for line in predicted.out.splitlines()]
    assert len(records) == 20
    assert all(len(record["neighbors"]) == 2 for record in records)
    assert all("score" in span for record in records for span in record["spans"])

    tuned = tmp_path / "tuned"
    outcome = run("fine-tune", folder, files["target"], "--fraction", "0.5", "--output", tuned)
    assert outcome.code == 0, outcome.err
    assert "fine-tuned on 10 sentences" in outcome.out
    assert run("evaluate", tuned, files["target"]).code == 0


def test_evaluate_shows_both_side_by_side_with_the_significance(run, trained_folder, files):
    outcome = run("evaluate", trained_folder, files["target"])
    assert "F1 plain" in outcome.out
    assert "F1 adapted" in outcome.out
    assert "adapted - plain:" in outcome.out
    assert "p = " in outcome.out


def test_evaluate_without_adaptation(run, trained_folder, files):
    outcome = run("evaluate", trained_folder, files["target"], "--no-adapt")
    assert outcome.code == 0
    assert "adapted" not in outcome.out


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


def test_offsets_of_raw_text_point_into_it(run, trained_folder, write):
    path = write("x.txt", "  ana  went to york.\n")
    record = json.loads(run("predict", trained_folder, path, "--to", "jsonl").out)
    for span in record["spans"]:
        assert record["text"][span["start_char"] : span["end_char"]] == span["text"]


def test_neighbors_are_shown_with_their_entities(run, trained_folder):
    outcome = run("neighbors", trained_folder, "ana went to york .", "-k", "3")
    assert [line[:2] for line in outcome.out.splitlines() if line[:1].isdigit()] == [
        "1.",
        "2.",
        "3.",
    ]
    as_json = json.loads(run("neighbors", trained_folder, "ana went", "--json").out)
    model = metacross.load(trained_folder, device="cpu")
    assert len(as_json) == model.settings.retrieval.neighbors


def test_a_trained_model_can_be_told_to_adapt_otherwise(run, trained_folder, files):
    def evaluated(*arguments):
        told = json.loads(run("evaluate", trained_folder, files["target"], *arguments).out)
        return told[0]["plain"]["overall"], told[0]["adapted"]["overall"]

    plain, _ = evaluated("--json")
    still = evaluated("--json", "--set", "adaptation.learning_rate=1e-12")
    assert still == (plain, plain)
    rate, neighbors = "adaptation.learning_rate=3.0", "retrieval.neighbors=5"
    spoilt = evaluated("--json", "--set", rate)
    assert spoilt[0] == plain != spoilt[1]
    model = metacross.load(trained_folder, device="cpu", settings=[rate, neighbors])
    assert len(model.predict(("ana", "in", "oslo")).neighbors) == 5
    for change, says in [
        ("encoder.dropout=0.5", "encoder.dropout: expected a setting that a trained model can"),
        ("adaptation.learning_rat=0.5", "did you mean learning_rate?"),
    ]:
        outcome = run("evaluate", trained_folder, files["target"], "--set", change)
        assert outcome.code == 1
        assert says in outcome.err


def test_fine_tuning_is_seeded_and_the_result_does_not_adapt(run, trained_folder, files, tmp_path):
    def tune(name, seed):
        folder = tmp_path / name
        arguments = ["--sentences", "5", "--seed", seed, "--output", folder]
        assert run("fine-tune", trained_folder, files["target"], *arguments).code == 0
        return (folder / "model.safetensors").read_bytes()

    assert tune("a", 1) == tune("b", 1) != tune("c", 2)
    tuned = metacross.load(tmp_path / "a", device="cpu")
    assert not tuned.adapts
    assert tuned.predict(("ana", "in", "oslo")).neighbors == ()
    outcome = run("predict", tmp_path / "a", files["target"], "--adapt")
    assert outcome.code == 1
    assert "use it without adaptation" in outcome.err


def test_fine_tuning_uses_ten_epochs_at_1e_5_unless_set(run, trained_folder, files, tmp_path):
    tuning = metacross.load_settings("paper").fine_tuning
    assert (tuning.epochs, tuning.learning_rate) == (10, 1e-5)
    chosen = ["--set", "fine_tuning.epochs=3", "--set", "fine_tuning.learning_rate=0.002"]
    given = ["--sentences", "5", "--output", tmp_path / "a", *chosen]
    assert run("fine-tune", trained_folder, files["target"], *given).code == 0
    taken = metacross.load(tmp_path / "a", device="cpu").settings.direct
    assert (taken.steps * taken.batch, taken.rate) == (3 * 5, 0.002)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["train", "paper", "--source", "{train}", "--dev", "{dev}"], "--output: expected a folder"),
        (["train", "paper", "--output", "{out}"], "data.source: expected a labeled corpus"),
        (["train", "papr", "--output", "{out}"], "papr: expected a YAML file or a recipe"),
        (["train", "--set", "meta.stps=1", "--output", "{out}"], "unknown setting meta.stps"),
        (["train", "--source", "nowhere", "--dev", "{dev}", "--output", "{out}"], "nowhere: cannot be read"),
        (["train", "--source", "{train}", "--dev", "{dev}", "--encoder", "./no", "--output", "{out}"], "./no: expected an encoder folder"),
        (["train", "--source", "{train}", "--dev", "{dev}", "--encoder", "no/body", "--output", "{out}"], "no/body: cannot be opened"),
        (["evaluate", "nowhere", "{target}"], "nowhere: expected a model folder"),
        (["evaluate", "{model}", "nowhere"], "nowhere: cannot be read"),
        (["evaluate", "{model}", "{target}", "--map", "PER=ORG"], "expected entities of the model's types LOC, PER, found ORG"),
        (["evaluate", "{model}", "{target}", "--device", "cuda"], "run.device: expected"),
        (["predict", "{model}", "nowhere"], "nowhere: cannot be read"),
        (["neighbors", "{model}", " "], "TEXT: expected a sentence"),
        (["neighbors", "{model}", "a", "-k", "9999"], "retrieval.neighbors: expected at most 40"),
        (["fine-tune", "{model}", "{target}", "--output", "{out}"], "expected either --fraction or --sentences"),
        (["fine-tune", "{model}", "{target}", "--fraction", "0.1"], "--output: expected a folder"),
        (["fine-tune", "{model}", "{target}", "--sentences", "999", "--output", "{out}"], "expected 1 to 20 sentences"),
    ],
)  # fmt: skip
def test_a_bad_call_is_one_line(run, files, trained_folder, tmp_path, arguments, says):
    names = {**files, "model": trained_folder, "out": tmp_path / "out"}
    outcome = run(*(argument.format(**names) for argument in arguments))
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert says in line
