"""A model without an encoder is served, and used in spaCy, like any other."""

import json
import shutil
from types import SimpleNamespace

import pytest
import spacy
from huggingface_hub import HfApi

import metacross
import tiny
from live_server import running
from metacross.adaptation.word_model import CombinedModel, WordModel
from metacross.baseline_settings import CrfSettings
from metacross.baselines.train_baseline import train_baseline
from metacross.errors import ModelError
from metacross.model.linear_crf import train_linear_crf
from metacross.model.model_digest import model_digest
from metacross.model.word_features import WordFeatures
from metacross.serving.card import write_card
from metacross.serving.options import ServerOptions
from metacross.serving.push import push
from metacross.serving.served_model import ServedModel
from metacross.text.gazetteer import Gazetteer
from metacross.text.tags import TagSet
from metacross.text.word_clusters import read_clusters

TEXTS = [" ".join(sentence.words) for sentence in tiny.corpus(10, seed=5)]


@pytest.fixture(scope="module")
def crf_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crf")
    train_baseline("crf", tiny.corpus(60), dev=tiny.corpus(10, seed=1), target="es", output=folder)
    return folder


def test_a_crf_is_served(crf_folder):
    expected = metacross.load(crf_folder).predict(TEXTS)
    with running(ServedModel.at(crf_folder, device="cpu"), ServerOptions()) as client:
        answer = client.post("/v1/predict", {"texts": TEXTS})
        assert answer.status == 200
        results = answer.json["results"]
        described = client.get("/v1/model").json
    assert [[e["text"] for e in r["entities"]] for r in results] == [
        [entity.text for entity in prediction.entities] for prediction in expected
    ]
    assert described["adapts"] is False
    assert described["can_adapt"] is False
    assert described["encoder"] == "none"


def test_a_crf_labels_spacy_documents(crf_folder):
    nlp = spacy.blank("en")
    nlp.add_pipe("metacross", config={"model": str(crf_folder)})
    document = nlp(TEXTS[0])
    expected = metacross.load(crf_folder).predict(TEXTS[0]).entities
    assert [entity.text for entity in document.ents] == [entity.text for entity in expected]


def test_a_hugging_face_pipeline_needs_an_encoder(crf_folder):
    with pytest.raises(ModelError, match="expected a model with an encoder, found a crf tagger"):
        metacross.pipeline(crf_folder)


def test_the_card_of_a_crf_says_what_it_is(crf_folder, tmp_path):
    card = write_card(crf_folder, license_id="mit", output=tmp_path / "card.md").read_text()
    assert "`baseline:crf`, for es: linear CRF on the source" in card
    assert "A tagger of the kind crf" in card
    assert "| `crf.*` | the tagger | mit |" in card
    for untrue in ("meta-trained", "transformers", "earlier version", "tokenizer"):
        assert untrue not in card


def test_a_crf_is_pushed_with_all_that_it_needs(crf_folder, tmp_path, monkeypatch):
    staged = tmp_path / "staged"

    def upload(self, *, folder_path, **options):
        shutil.copytree(folder_path, staged)
        return SimpleNamespace(oid="0" * 40)

    monkeypatch.setattr(HfApi, "create_repo", lambda self, *args, **options: None)
    monkeypatch.setattr(HfApi, "upload_folder", upload)
    pushed = push(crf_folder, "ana/crf", license_id="mit")
    assert pushed.location == f"hub:ana/crf@{'0' * 40}"
    shared = json.loads((staged / "baseline.json").read_text())
    assert sorted(shared) == ["baseline", "cites", "made_of", "resources", "target"]
    expected = metacross.load(crf_folder).predict(TEXTS)
    assert metacross.load(staged).predict(TEXTS) == expected


def test_a_crf_with_clusters_and_a_gazetteer_is_pushed_and_loaded_whole(hub, write, tmp_path):
    corpus = tiny.corpus(30)
    words = sorted({word for sentence in corpus for word in sentence.words})
    rows = [f"{number % 4}\t{word}\n" for number, word in enumerate(words)]
    clusters = read_clusters(write("clusters.tsv", "".join(rows)))
    gazetteer = Gazetteer.of([("Ana", "PER"), ("Oslo", "LOC")])
    features = WordFeatures(words=False, clusters=(clusters,), gazetteer=gazetteer)
    tag_set = TagSet(tuple(corpus.entities_by_label))
    tagger = train_linear_crf([corpus], tag_set, features, CrfSettings(iterations=5))
    WordModel(tagger, metacross.load_settings("mini")).save(tmp_path / "crf")
    pushed = push(tmp_path / "crf", "ana/crf", license_id="mit")
    assert {"clusters-0.tsv", "gazetteer.tsv"} <= pushed.files.keys()
    expected = metacross.load(tmp_path / "crf").predict(TEXTS)
    assert metacross.load(pushed.location).predict(TEXTS) == expected


def test_models_in_one_are_not_pushed(crf_folder, tmp_path):
    crf = metacross.load(crf_folder)
    CombinedModel([crf, crf], crf.settings).save(tmp_path)
    with pytest.raises(ModelError, match=r"found several in one \(combined\)"):
        push(tmp_path, "ana/both")


@pytest.fixture(scope="module")
def combined_folder(crf_folder, trained_folder, tmp_path_factory):
    """A CRF and an encoder that adapts, together."""
    folder = tmp_path_factory.mktemp("both")
    crf, adapting = metacross.load(crf_folder), metacross.load(trained_folder, device="cpu")
    CombinedModel([crf, adapting], crf.settings, rule="mean").save(folder)
    return folder


def test_models_in_one_are_carried_by_spacy_whole(combined_folder, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("metacross", config={"model": str(combined_folder)})
    nlp.to_disk(tmp_path / "pipeline")
    expected = [entity.text for entity in nlp(TEXTS[0]).ents]
    from_bytes = spacy.blank("en")
    from_bytes.add_pipe("metacross", config={"model": str(combined_folder)})
    from_bytes.from_bytes(nlp.to_bytes())
    for copy in (spacy.load(tmp_path / "pipeline"), from_bytes):
        assert [entity.text for entity in copy(TEXTS[0]).ents] == expected


def test_other_weights_of_a_model_in_one_are_another_version(combined_folder, tmp_path):
    changed = tmp_path / "changed"
    shutil.copytree(combined_folder, changed)
    weights = changed / "1" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert model_digest(changed) != model_digest(combined_folder)
    assert ServedModel.at(changed).version != ServedModel.at(combined_folder).version


def test_settings_and_caches_of_models_in_one_are_those_of_their_parts(combined_folder):
    model = metacross.load(combined_folder, device="cpu", adaptation={"learning_rate": 0.25})
    adapting = model.models[1]
    assert adapting.settings.adaptation.learning_rate == 0.25
    model.predict(TEXTS)
    assert model.gradient_cache_bytes == adapting.gradient_cache_bytes > 0
    cache = adapting._adapter._engine.gradient_cache
    assert len(cache.positions) > 0
    model.clear_gradient_cache()
    assert len(cache.positions) == 0
