"""``metacross train`` and the flow of commands after it, as a user runs them."""

import json

import pytest

import metacross
import tiny


def sets(*overrides):
    return [word for override in (*tiny.FAST, *overrides) for word in ("--set", override)]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "xlm-r", "distilbert"])
def test_the_whole_flow_on_every_family(run, files, encoders, tmp_path, family):
    folder = tmp_path / "model"
    trained = run(
        "train", "paper", "--source", files["train"], "--dev", files["dev"],
        "--encoder", encoders[family], "--output", folder, *sets(),
    )  # fmt: skip
    assert trained.code == 0, trained.err
    assert f"Saved model to {folder} (labels: LOC, PER)" in trained.out
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
        (["evaluate", "{model}", "{target}", "--map", "PER=ORG"], "expected the entity types LOC, PER, found ORG"),
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


def test_recipes_can_be_combined(run, files, encoders, tmp_path):
    outcome = run(
        "train", "paper,direct", "--source", files["train"], "--dev", files["dev"],
        "--encoder", encoders["bert"], "--output", tmp_path / "m", *sets("direct.steps=1"),
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    model = metacross.load(tmp_path / "m", device="cpu")
    assert model.settings.run.method == "direct"
    assert model.settings.loss.max_weight == 0
    assert not model.adapts
