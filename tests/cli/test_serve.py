"""``metacross serve``: what it refuses before it starts. Running servers are in tests/serving."""

import socket

import pytest
from huggingface_hub import ModelCard

from metacross.serving import demo_model
from metacross.text.bundled_corpus import bundled_corpus


def test_a_folder_without_a_model_is_refused(run, tmp_path):
    outcome = run("serve", tmp_path)
    assert outcome.code == 1
    assert (
        outcome.err
        == f"metacross: {tmp_path}: expected metacross.json in the model folder, found none\n"
    )


def test_a_model_of_the_hub_is_looked_for_there(run):
    outcome = run("serve", "hub:ana/x")
    assert outcome.code == 1
    assert "hub:ana/x: is not in the cache" in outcome.err


def test_other_machines_are_not_served_without_a_token(run, trained_folder):
    outcome = run("serve", trained_folder, "--host", "0.0.0.0")
    assert outcome.code == 1
    assert "--host: other machines can reach 0.0.0.0; give --token-file FILE" in outcome.err


@pytest.mark.parametrize(
    ("option", "value"), [("--max-bytes", "0"), ("--seconds", "-1"), ("--queue-pieces", "-5")]
)
def test_limits_must_be_above_zero(run, trained_folder, option, value):
    outcome = run("serve", trained_folder, option, value)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"metacross: {option}: expected more than 0, found" in outcome.err


def test_a_port_that_is_taken_is_refused(run, trained_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = run("serve", trained_folder, "--port", str(port))
    assert outcome.code == 1
    assert f"--port: 127.0.0.1:{port} cannot be used: Address already in use" in outcome.err


def test_a_model_that_cannot_be_loaded_ends_the_server_with_one_line(run, trained_folder):
    outcome = run("serve", trained_folder, "--port", "0", "--set", "meta.steps=1")
    assert outcome.code == 1
    assert "meta.steps: expected a setting that can change after training" in outcome.err
    assert "Traceback" not in outcome.err


def test_without_the_extra_it_says_how_to_install_it(run, trained_folder, monkeypatch):
    monkeypatch.setattr("metacross.cli.serve.find_spec", lambda _package: None)
    outcome = run("serve", trained_folder)
    assert outcome.code == 1
    assert "fastapi is not installed: pip install 'metacross[server]'" in outcome.err


def test_the_model_of_the_bundled_corpus_is_trained_once(run, encoders, monkeypatch):
    """With two steps and few sentences; a taken port ends the command after the training."""
    import metacross
    import tiny
    from metacross.text.sentence import Corpus

    settings = metacross.load_settings(
        "paper", [*tiny.FAST, "meta.steps=2", f"encoder.name={encoders['bert']}"]
    )
    few = {split: Corpus(bundled_corpus("en", split).sentences[:20]) for split in ("train", "dev")}
    monkeypatch.setattr(demo_model, "demo_settings", lambda: settings)
    monkeypatch.setattr(demo_model, "bundled_corpus", lambda _language, split: few[split])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        first, second = (run("serve", "--port", port) for _ in range(2))
    folder = demo_model.demo_model_folder()
    assert "Training a small model on the bundled corpus" in first.err
    assert str(folder) in first.err.replace("\n", "")
    assert "Training" not in second.err
    assert "cannot be used" in second.err
    assert (folder / "metacross.json").exists()
    card = ModelCard.load(folder / "README.md")
    assert (card.data.language, card.data.pipeline_tag) == (["en"], "token-classification")
