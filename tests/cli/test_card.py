"""The commands ``card`` and ``push``, as a user runs them."""

import shutil

import pytest
from huggingface_hub import ModelCard


@pytest.fixture
def folder(trained_folder, tmp_path):
    shutil.copytree(trained_folder, tmp_path / "tiny")
    return tmp_path / "tiny"


def test_card_writes_licenses_and_keeps_notes(run, folder):
    card = folder / "README.md"
    card.write_text(card.read_text() + "\nAsk Ana.\n")
    outcome = run(
        "card", folder, "--license", "mit", "--source-license", "cc-by-4.0", "--dataset", "a/b"
    )
    assert outcome.code == 0
    assert outcome.out == f"Wrote {card}\n"
    written = ModelCard.load(card)
    assert written.data.license == "mit"
    assert written.data.datasets == ["a/b"]
    assert written.text.rstrip().endswith("Ask Ana.")
    assert "| examples |" in written.text
    run("card", folder)
    assert ModelCard.load(card).content == written.content


def test_card_writes_to_another_file(run, folder, tmp_path):
    before = (folder / "README.md").read_text()
    assert run("card", folder, "--license", "mit", "--output", tmp_path / "card.md").code == 0
    assert ModelCard.load(tmp_path / "card.md").data.license == "mit"
    assert (folder / "README.md").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["card", "nothing"], "nothing: expected a model folder, found nothing there"),
        (["card", "text.txt"], "text.txt: expected a model folder, found a file"),
        (["card", "{folder}", "--license", "my license"], "--license: expected the id of a license"),
        (["card", "{folder}", "--results", "x.jsonl"], "x.jsonl: cannot be read"),
        (["card", "{folder}", "--output", "no/folder/card.md"], "no/folder/card.md"),
        (["card", "hub:ana/x"], "--output: expected a file"),
        (["push", "{folder}", "ana/x"], "say --source keep --source-license ID"),
        (["push", "{folder}", "ana/x", "--source", "keep"], "--source-license cc-by-4.0"),
        (["push", "{folder}", "x", "--source", "drop"], "expected OWNER/NAME"),
        (["push", "nothing", "ana/x", "--source", "drop"], "expected a model folder"),
        (["push", "{folder}", "ana/x", "--source", "drop"], "unset HF_HUB_OFFLINE"),
        (["predict", "hub:ana/x", "text.txt"], "unset HF_HUB_OFFLINE"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_line(run, folder, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("Ana duerme .\n")
    outcome = run(*(argument.format(folder=folder) for argument in arguments))
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not outcome.out


def test_push_lists_the_files_of_a_dry_run(run, folder):
    outcome = run("push", folder, "ana/x", "--source", "drop", "--dry-run")
    assert outcome.code == 0
    assert "model.safetensors" in outcome.out
    assert "source.jsonl" not in outcome.out
    assert "Nothing was pushed (--dry-run). The pushed model: it does not adapt." in outcome.out
