"""Model folders: opened by transformers too, refused when broken."""

import json
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import metacross
import tiny
from metacross.adaptation.word_model import CombinedModel
from metacross.errors import MetacrossError, ModelError
from metacross.text.tags import tags_from_spans


@pytest.fixture
def folder(trained_folder, tmp_path):
    """A copy of a trained model that may be changed."""
    copy = tmp_path / "model"
    shutil.copytree(trained_folder, copy)
    return copy


def test_transformers_opens_it_and_gives_the_tags_of_plain_prediction(trained_folder):
    network = transformers.AutoModelForTokenClassification.from_pretrained(trained_folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained_folder)
    model = metacross.load(trained_folder, device="cpu")
    for prediction in model.predict_stream(tiny.corpus(20, seed=3), adapt=False):
        words = list(prediction.sentence.words)
        encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            best = network(**encoded).logits[0].argmax(dim=1)
        word_ids = encoded.word_ids()
        firsts = [word_ids.index(word) for word in range(len(words))]
        theirs = [network.config.id2label[best[first].item()] for first in firsts]
        found = metacross.text.tags.spans_from_tags(theirs)
        assert found == prediction.spans
        assert len(tags_from_spans(found, len(words))) == len(words)


def test_the_pipeline_of_transformers_gives_the_same_tags(trained_folder):
    pipeline = transformers.pipeline(
        "token-classification", model=str(trained_folder), device="cpu"
    )
    model = metacross.load(trained_folder, device="cpu")
    for sentence in tiny.corpus(10, seed=4):
        theirs = {item["index"] - 1: item["entity"] for item in pipeline(" ".join(sentence.words))}
        (prediction,) = model.predict_words([sentence.words], adapt=False)
        ours = tags_from_spans(prediction.spans, len(sentence.words))
        spans = metacross.text.tags.spans_from_tags([theirs.get(i, "O") for i in range(len(ours))])
        assert spans == prediction.spans  # every word of the tiny vocabulary is one piece


@pytest.mark.parametrize("adapt", [False, True])
def test_saved_and_opened_it_predicts_the_same(trained_folder, tmp_path, adapt):
    model = metacross.load(trained_folder, device="cpu")
    model.save(tmp_path / "again")
    again = metacross.load(tmp_path / "again", device="cpu")
    sentences = tiny.corpus(10, seed=6)
    ours, theirs = (list(m.predict_stream(sentences, adapt=adapt)) for m in (model, again))
    assert ours == theirs


def test_nothing_in_it_is_pickled(trained_folder):
    files = [path for path in trained_folder.rglob("*") if path.is_file()]
    suffixes = {path.suffix for path in files if path.name != ".lock"}
    assert suffixes == {".json", ".jsonl", ".yaml", ".safetensors", ".md"}


def test_the_pretrained_weights_are_kept_once(trained_folder):
    whole = load_file(trained_folder / "model.safetensors")
    kept = load_file(trained_folder / "pretrained.safetensors")
    assert kept.keys() < whole.keys()
    assert not any("embeddings" in name or "layer.0." in name for name in kept)


def test_an_outside_sentence_encoder_is_saved_with_the_model(encoders, tmp_path):
    recipe = metacross.load_settings(
        "paper", [*tiny.FAST, f"retrieval.encoder={encoders['xlm-r']}", "retrieval.pooling=mean"]
    )
    model = metacross.train(
        tiny.corpus(20),
        dev=tiny.corpus(9, 1),
        encoder=encoders["bert"],
        recipe=recipe,
        output=tmp_path / "m",
    )
    assert (tmp_path / "m/sentence_encoder/model.safetensors").exists()
    again = metacross.load(tmp_path / "m", device="cpu")
    sentences = tiny.corpus(5, seed=6).sentences
    assert again.neighbors(sentences) == model.neighbors(sentences)


def test_a_model_saved_over_one_that_adapts_does_not_keep_its_sentences(folder):
    tuned = metacross.load(folder, device="cpu").fine_tune(tiny.corpus(10, seed=5))
    assert tuned.parts.datastore is None
    tuned.save(folder)
    again = metacross.load(folder, device="cpu")
    assert again.parts.datastore is None
    left = {"source.jsonl", "source_vectors.safetensors", "pretrained.safetensors"}
    assert not left & {path.name for path in folder.iterdir()}


def test_a_model_saved_over_another_does_not_keep_its_sentence_encoder(folder):
    (folder / "sentence_encoder").mkdir()
    (folder / "sentence_encoder" / "config.json").write_text("{}")
    (folder / "my-notes").mkdir()
    model = metacross.load(folder, device="cpu")
    model.save(folder)
    assert not (folder / "sentence_encoder").exists()
    assert (folder / "my-notes").exists()
    assert metacross.load(folder, device="cpu").parts.datastore is not None


def test_a_model_saved_over_several_in_one_does_not_keep_them(trained_folder, tmp_path):
    model = metacross.load(trained_folder, device="cpu")
    CombinedModel([model, model, model], model.settings).save(tmp_path)
    CombinedModel([model, model], model.settings).save(tmp_path)
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"0", "1"}
    model.save(tmp_path)
    assert not any(path.is_dir() for path in tmp_path.iterdir())


def test_saving_a_model_keeps_numbered_folders_that_are_not_its_parts(folder, trained_folder):
    shutil.copytree(trained_folder, folder / "1")
    metacross.load(folder, device="cpu").save(folder)
    assert (folder / "1" / "metacross.json").exists()


def change_json(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def drop_weight(path):
    tensors = load_file(path)
    tensors.pop("classifier.weight")
    save_file(tensors, path, {"format": "pt"})


def fewer_labels(path):
    tensors = load_file(path)
    tensors["classifier.weight"] = tensors["classifier.weight"][:3].clone()
    tensors["classifier.bias"] = tensors["classifier.bias"][:3].clone()
    save_file(tensors, path, {"format": "pt"})


def cut(path):
    path.write_bytes(path.read_bytes()[:-200])


BROKEN = {
    "no mark": (lambda f: (f / "metacross.json").unlink(), "expected metacross.json"),
    "mark no JSON": (lambda f: (f / "metacross.json").write_text("{"), "cannot be parsed"),
    "mark without labels": (
        lambda f: (f / "metacross.json").write_text('{"format": 1}'),
        "expected format, labels and adapts",
    ),
    "newer": (lambda f: change_json(f / "metacross.json", format=99), "of format 1, found 99"),
    "other labels": (
        lambda f: change_json(f / "metacross.json", labels=["ORG"]),
        "expected the tags O, B-ORG, I-ORG",
    ),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "found none"),
    "pickle": (
        lambda f: [
            (f / "model.safetensors").unlink(),
            [
                (f / name).unlink()
                for name in ("pretrained.safetensors", "source_vectors.safetensors")
            ],
            (f / "pytorch_model.bin").write_bytes(b"x"),
        ],
        "a pickle",
    ),
    "cut weights": (lambda f: cut(f / "model.safetensors"), "the weights cannot be read"),
    "weights with a hole": (lambda f: drop_weight(f / "model.safetensors"), "1 missing"),
    "label count": (lambda f: fewer_labels(f / "model.safetensors"), "the weights cannot be read"),
    "no config": (lambda f: (f / "config.json").unlink(), "expected config.json"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "expected tokenizer.json"),
    "no recipe": (lambda f: (f / "recipe.yaml").unlink(), "recipe.yaml: cannot be read"),
    "bad recipe": (
        lambda f: (f / "recipe.yaml").write_text("meta: {stps: 1}"),
        "did you mean",
    ),
    "recipe of something else": (
        lambda f: (f / "recipe.yaml").write_text("foo: {}"),
        "recipe.yaml: unknown setting foo",
    ),
    "no source": (
        lambda f: (f / "source.jsonl").unlink(),
        "expected source.jsonl, because the model adapts, found none",
    ),
    "no vectors": (
        lambda f: (f / "source_vectors.safetensors").unlink(),
        "cannot be read as safetensors",
    ),
    "cut vectors": (
        lambda f: cut(f / "source_vectors.safetensors"),
        "cannot be read as safetensors",
    ),
    "cut source": (
        lambda f: (f / "source.jsonl").write_text((f / "source.jsonl").read_text().split("\n")[0]),
        "a vector for each of 1 source sentences, found 40",
    ),
    "cut twin": (lambda f: cut(f / "pretrained.safetensors"), "cannot be read as safetensors"),
}


@pytest.mark.parametrize(("damage", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_folder_is_one_clear_line(folder, damage, says):
    damage(folder)
    with pytest.raises(MetacrossError) as error:
        metacross.load(folder, device="cpu")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_what_is_no_folder_is_said(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="expected a model folder, found"):
        metacross.load(tmp_path / name)
