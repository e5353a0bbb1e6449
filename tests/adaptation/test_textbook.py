"""Adaptation is a loan: the weights come back."""

import numpy as np
import pytest
import torch

import metacross
import tiny
from metacross.adaptation.textbook import adapted
from metacross.model.encoder import weights_digest
from metacross.settings import OptimizerSettings, load_settings
from metacross.text.sentence import Corpus, Sentence, Span
from model.test_encoder import tagger_on

STEP = {"steps": 1, "learning_rate": 1e-2, "max_weight": 0.0, "optimizer": OptimizerSettings()}


@pytest.fixture
def tagger(encoders):
    return tagger_on(encoders["bert"])


def test_inside_the_block_the_weights_are_others_and_after_it_the_same_bits(tagger):
    before = weights_digest(tagger.network)
    with adapted(tagger, tagger.examples(tiny.corpus(2)), **STEP):
        assert weights_digest(tagger.network) != before
    assert weights_digest(tagger.network) == before


def test_the_weights_come_back_when_the_block_raises(tagger):
    before = weights_digest(tagger.network)
    with pytest.raises(ZeroDivisionError), adapted(tagger, tagger.examples(tiny.corpus(2)), **STEP):
        raise ZeroDivisionError
    assert weights_digest(tagger.network) == before


def test_the_weights_come_back_when_a_step_raises(tagger, monkeypatch):
    before = weights_digest(tagger.network)
    steps = []

    def loss_then_trouble(*arguments, **options):
        steps.append(1)
        if len(steps) == 2:
            raise MemoryError
        return original(*arguments, **options)

    original = tagger.loss
    monkeypatch.setattr(tagger, "loss", loss_then_trouble)
    with (
        pytest.raises(MemoryError),
        adapted(tagger, tagger.examples(tiny.corpus(2)), **{**STEP, "steps": 2}),
    ):
        raise AssertionError("the block must not begin")
    assert weights_digest(tagger.network) == before


def test_one_step_is_torch_s_adam_on_the_mean_loss_of_the_support(encoders):
    ours, theirs = tagger_on(encoders["bert"]), tagger_on(encoders["bert"])
    support = ours.examples(tiny.corpus(3))
    reference = torch.optim.Adam(theirs.trainable.values(), lr=1e-2)
    losses = [theirs.loss(theirs.batch([example]), max_weight=0.0) for example in support]
    torch.stack(losses).mean().backward()
    reference.step()
    with adapted(ours, support, **STEP):
        for name, weight in ours.trainable.items():
            assert torch.allclose(weight, theirs.trainable[name], atol=1e-6), name


@pytest.fixture
def model(trained_folder):
    return metacross.load(trained_folder, device="cpu")


def test_predicting_leaves_the_model_bit_identical(model):
    before = weights_digest(model.tagger.network)
    first = list(model.predict_all(tiny.corpus(5, seed=9), adapt=True))
    again = list(model.predict_all(tiny.corpus(5, seed=9), adapt=True))
    assert first == again
    assert weights_digest(model.tagger.network) == before


def test_adapting_changes_the_prediction_where_it_must(encoders, tmp_path):
    """The only source sentences say that "rain" is a person; a large step on them must show."""
    source = Corpus(
        tuple(Sentence(("rain", "in", w), (Span(0, 1, "PER"),)) for w in ("oslo", "rome"))
    )
    recipe = load_settings(
        "direct",
        [
            *tiny.FAST,
            "direct.steps=1",
            "direct.learning_rate=1e-9",
            "adaptation.learning_rate=0.05",
            "adaptation.steps=5",
        ],
    )
    model = metacross.train(source, dev=source, encoder=encoders["bert"], recipe=recipe)
    sentence = Sentence(("rain", "in", "york"))
    plain = model.predict(sentence, adapt=False)
    adapted_prediction = model.predict(sentence, adapt=True)
    assert plain.spans != (Span(0, 1, "PER"),)
    assert adapted_prediction.spans == (Span(0, 1, "PER"),)
    assert [n.position for n in adapted_prediction.neighbors] in ([0, 1], [1, 0])
    assert plain.neighbors == ()


def test_scores_are_the_mean_probability_of_the_entity_s_words(model):
    (sentence,) = tiny.corpus(1, seed=4)
    for prediction in model.predict_all(tiny.corpus(20, seed=4), adapt=False):
        assert len(prediction.scores) == len(prediction.spans)
        assert all(0 < score <= 1 for score in prediction.scores)
    (example,) = model.tagger.examples([sentence])
    with torch.no_grad():
        probabilities = model.tagger.logits(model.tagger.batch([example])).softmax(dim=1).numpy()
    prediction = model.predict(sentence, adapt=False)
    for span, score in zip(prediction.spans, prediction.scores, strict=True):
        best = probabilities[span.start : span.end].max(axis=1)
        assert score == pytest.approx(float(np.mean(best)), abs=1e-5)


def test_raw_text_words_and_a_sentence_predict_alike(model):
    words = ("ana", "went", "to", "york", ".")
    by_words, by_text = model.predict(words), model.predict("ana went to york.")
    assert by_words.spans == by_text.spans == model.predict(Sentence(words)).spans
    assert by_text.sentence.layout.offsets[3] == (12, 16)


def test_predictions_come_in_order_and_one_a_sentence(model):
    sentences = tiny.corpus(150, seed=8)
    for adapt in (False, True):
        found = list(model.predict_all(iter(sentences), adapt=adapt))
        assert [prediction.sentence for prediction in found] == list(sentences)
