"""Pushing a model to a stand-in hub and loading it from there."""

import json
import shutil

import pytest
import yaml
from huggingface_hub import ModelCard, constants

import metacross
import tiny

PLAIN = {
    "README.md",
    "config.json",
    "metacross.json",
    "model.safetensors",
    "recipe.yaml",
    "tokenizer.json",
    "tokenizer_config.json",
}
DATASTORE = {"source.jsonl", "source_vectors.safetensors", "pretrained.safetensors"}
CREATED_BY_THE_HUB = {".gitattributes"}


@pytest.fixture
def folder(trained_folder, tmp_path):
    """A model folder with files that are nobody else's business."""
    copy = tmp_path / "models" / "tiny"
    shutil.copytree(trained_folder, copy)
    (copy / "my-notes.txt").write_text("private")
    (copy / "train.conll").write_text("ana B-PER\n")
    assert (copy / "training" / "run.json").exists()
    return copy


def words_in(files):
    """Everything that the files of a repository say as text."""
    return b"\n".join(data for name, data in files.items() if not name.startswith("tokenizer"))


def test_without_the_source_exactly_the_files_of_a_plain_model_arrive(hub, folder):
    pushed = metacross.push(folder, "ana/tiny", source="drop")
    assert set(hub.files("ana/tiny")) == PLAIN | CREATED_BY_THE_HUB
    assert set(pushed.files) == PLAIN
    assert not pushed.adapts


def test_with_the_source_the_datastore_arrives_too(hub, folder):
    pushed = metacross.push(folder, "ana/tiny", source="keep", source_license="cc-by-4.0")
    files = hub.files("ana/tiny")
    assert set(files) == PLAIN | DATASTORE | CREATED_BY_THE_HUB
    for name in {*PLAIN, *DATASTORE} - {"README.md", "recipe.yaml"}:
        assert files[name] == (folder / name).read_bytes(), name
    assert pushed.adapts


def test_without_the_source_no_source_sentence_arrives(hub, folder):
    sentences = [json.loads(line) for line in (folder / "source.jsonl").open()]
    metacross.push(folder, "ana/tiny", source="drop")
    text = words_in(hub.files("ana/tiny"))
    assert sentences
    for sentence in sentences:
        assert " ".join(sentence["tokens"]).encode() not in text


def test_pushed_without_the_source_it_loads_and_predicts_plainly(hub, folder):
    before = metacross.load(folder, device="cpu")
    pushed = metacross.push(folder, "ana/tiny", source="drop")
    model = metacross.load(pushed.location, device="cpu")
    sentences = tiny.corpus(10, seed=5)
    plain = list(before.predict_stream(sentences, adapt=False))
    assert list(model.predict_stream(sentences)) == plain
    assert not model.adapts
    with pytest.raises(metacross.ModelError, match="no source sentences to adapt to"):
        model.neighbors([tiny.corpus(1)[0]])


def test_pushed_with_the_source_it_adapts_as_before(hub, folder):
    before = metacross.load(folder, device="cpu")
    pushed = metacross.push(folder, "ana/tiny", source="keep", source_license="cc0-1.0")
    model = metacross.load(pushed.location, device="cpu")
    sentences = tiny.corpus(10, seed=5)
    predictions = list(model.predict_stream(sentences))
    assert predictions == list(before.predict_stream(sentences))
    assert all(prediction.neighbors for prediction in predictions)


def test_a_model_with_its_source_is_refused_if_nobody_decided(hub, folder):
    with pytest.raises(metacross.SettingsError) as refusal:
        metacross.push(folder, "ana/tiny")
    assert str(refusal.value) == (
        f"{folder}: the model holds its source corpus (40 sentences of tiny-0); say --source keep "
        "--source-license ID if it may be published, or --source drop to push a model that does "
        "not adapt"
    )
    assert not hub.repositories


@pytest.mark.parametrize("license_id", [None, "unknown", "other", "my own license"])
def test_the_source_is_kept_only_under_a_license(hub, folder, license_id):
    with pytest.raises(metacross.SettingsError, match="license"):
        metacross.push(folder, "ana/tiny", source="keep", source_license=license_id)
    assert not hub.repositories


def test_pushing_without_the_source_deletes_that_of_an_earlier_push(hub, folder):
    metacross.push(folder, "ana/tiny", source="keep", source_license="cc-by-4.0")
    metacross.push(folder, "ana/tiny", source="drop")
    assert set(hub.files("ana/tiny")) == PLAIN | CREATED_BY_THE_HUB


def test_a_fine_tuned_model_needs_no_decision(hub, folder, tmp_path):
    model = metacross.load(folder, device="cpu", fine_tuning={"epochs": 1})
    model.fine_tune(tiny.corpus(8, seed=3), output=tmp_path / "tuned")
    metacross.push(tmp_path / "tuned", "ana/tuned")
    assert set(hub.files("ana/tuned")) == PLAIN | CREATED_BY_THE_HUB
    with pytest.raises(metacross.SettingsError, match="holds no source sentences"):
        metacross.push(tmp_path / "tuned", "ana/tuned", source="keep", source_license="cc0-1.0")


def test_the_pushed_card_says_where_the_model_is_and_under_which_licenses(hub, folder):
    metacross.push(
        folder, "ana/tiny", source="keep", source_license="cc-by-4.0", license_id="apache-2.0"
    )
    card = ModelCard(hub.files("ana/tiny")["README.md"].decode())
    assert card.data.license == "apache-2.0"
    assert card.data.source_license == "cc-by-4.0"
    assert 'metacross.load("hub:ana/tiny")' in card.text
    assert "| PER | " in card.text
    assert "cc-by-4.0" in card.text


def test_the_card_of_a_model_without_its_source_says_so_and_has_no_examples(hub, folder):
    metacross.write_card(folder, source_license="cc-by-4.0")
    metacross.push(folder, "ana/tiny", source="drop")
    text = hub.files("ana/tiny")["README.md"].decode()
    assert "labels **without adaptation**" in text
    assert "source.jsonl" not in text
    assert "examples" not in text
    assert "cc-by-4.0" not in text


def test_a_readme_of_somebody_else_is_pushed_as_it_is(hub, folder):
    (folder / "README.md").write_text("# By Ana")
    metacross.push(folder, "ana/tiny", source="drop")
    assert hub.files("ana/tiny")["README.md"] == b"# By Ana"


def test_the_pushed_recipe_has_no_folders_of_this_machine(hub, encoders, tmp_path):
    recipe = metacross.load_settings("paper", [*tiny.FAST, f"data.source={tmp_path}/train.conll"])
    source, dev = tiny.corpus(20), tiny.corpus(8, seed=1)
    model = tmp_path / "with-paths"
    metacross.train(source, dev=dev, encoder=encoders["bert"], recipe=recipe, output=model)
    assert str(tmp_path) in (model / "recipe.yaml").read_text()
    metacross.push(model, "ana/tiny", source="drop")
    files = hub.files("ana/tiny")
    assert yaml.safe_load(files["recipe.yaml"])["data"]["source"] == "train.conll"
    for name, data in files.items():
        assert str(tmp_path).encode() not in data, name
        assert encoders["bert"].encode() not in data, name


def test_a_private_model_is_not_pushed_to_a_public_repository(hub, folder):
    hub.add("ana/tiny", {})
    with pytest.raises(metacross.ModelError, match="expected a private repository"):
        metacross.push(folder, "ana/tiny", source="drop", private=True)
    assert hub.files("ana/tiny") == {}
    metacross.push(folder, "ana/other", source="drop", private=True)
    assert hub.repositories["ana/other"].private


def test_a_revision_is_a_branch_of_its_own(hub, folder):
    metacross.push(folder, "ana/tiny", source="drop", revision="plain")
    assert set(hub.files("ana/tiny", "plain")) == PLAIN | CREATED_BY_THE_HUB
    assert set(hub.files("ana/tiny")) == CREATED_BY_THE_HUB


def test_a_dry_run_pushes_nothing(hub, folder):
    pushed = metacross.push(folder, "ana/tiny", source="drop", dry_run=True)
    assert set(pushed.files) == PLAIN
    assert not hub.repositories


def test_a_wrong_token_is_one_clear_line(hub, folder, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(metacross.ModelError) as refusal:
        metacross.push(folder, "ana/tiny", source="drop")
    assert str(refusal.value) == (
        "hub:ana/tiny: cannot be pushed: no valid token; run hf auth login, or set HF_TOKEN"
    )


def test_an_unreachable_hub_is_one_clear_line(hub, folder, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(metacross.ModelError, match="the hub cannot be reached"):
        metacross.push(folder, "ana/tiny", source="drop")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(metacross.ModelError, match="offline; unset HF_HUB_OFFLINE"):
        metacross.push(folder, "ana/tiny", source="drop")
