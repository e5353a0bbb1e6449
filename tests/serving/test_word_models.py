"""A model without an encoder is served, and used in spaCy, like any other."""

import pytest
import spacy

import metacross
import tiny
from live_server import running
from metacross.baselines.train_baseline import train_baseline
from metacross.errors import ModelError
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel

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
