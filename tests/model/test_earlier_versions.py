"""Model folders of earlier versions can still be read."""

from pathlib import Path

import pytest

import metacross

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.mark.parametrize("version", ["0.1"])
def test_a_model_folder_of_an_earlier_version_loads_and_predicts_the_same(version):
    predictions = metacross.read_corpus(FIXTURES / f"model-{version}-predictions.conll")
    model = metacross.load(FIXTURES / f"model-{version}", device="cpu")
    again = model.predict_words([sentence.words for sentence in predictions])
    assert predictions.n_entities
    assert [prediction.spans for prediction in again] == [s.spans for s in predictions]
    assert all(len(prediction.neighbors) == 2 for prediction in again)
