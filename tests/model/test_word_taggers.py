"""Taggers without an encoder learn, label like their training library, and save."""

from types import SimpleNamespace

import numpy as np
import pycrfsuite
import pytest
import torch

import metacross
import tiny
from metacross.adaptation.word_model import CombinedModel, WordModel, co_decoded
from metacross.baseline_settings import BilstmCrfSettings, CrfSettings
from metacross.errors import ModelError
from metacross.model.bilstm_crf import BilstmCrf
from metacross.model.crf import best_paths
from metacross.model.linear_crf import train_linear_crf
from metacross.model.word_features import WordFeatures
from metacross.model.word_tagger import padded, tag_sentences
from metacross.settings import Settings, load_settings
from metacross.text.gazetteer import Gazetteer
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.tags import TagSet, tags_from_spans
from metacross.text.word_clusters import WordClusters
from metacross.text.word_vectors import WordVectors

CORPUS, DEV = tiny.corpus(60), tiny.corpus(20, seed=1)
TAGS = tiny.TAGS
SMALL = BilstmCrfSettings(character_width=5, character_states=6, states=8, dropout=0.0)


@pytest.fixture(scope="module")
def crf():
    features = WordFeatures(
        clusters=(WordClusters({"ana": "7", "tom": "7", "york": "8"}),),
        gazetteer=Gazetteer.of([("york", "LOC"), ("new york", "LOC")]),
    )
    return train_linear_crf([CORPUS], TAGS, features, CrfSettings(iterations=30))


def bilstm():
    words = tuple({word: None for sentence in CORPUS for word in sentence.words})
    vectors = WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 4)).astype("f4"))
    return BilstmCrf.new(vectors, CORPUS, TAGS, SMALL, seed=1)


def f1(model):
    return model.evaluate(DEV).f1


def test_a_linear_crf_learns(crf):
    assert f1(WordModel(crf, Settings())) > 0.95


def test_paths_are_those_of_crfsuite(tmp_path):
    features, settings = WordFeatures(), CrfSettings(iterations=4)
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"c1": settings.l1, "c2": settings.l2, "max_iterations": 4})
    for sentence in CORPUS:
        words = features.of(sentence.words)
        trainer.append(words, tags_from_spans(sentence.spans, len(words)))
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    ours = train_linear_crf([CORPUS], TAGS, features, CrfSettings(iterations=4, min_count=1))
    emissions, is_word = padded(ours.emissions(DEV.sentences))
    paths = best_paths(emissions, is_word, ours.chain)
    for sentence, path in zip(DEV, paths, strict=True):
        assert [TAGS.tags[i] for i in path] == tagger.tag(features.of(sentence.words))
    marginal = tagger.marginal("B-PER", 0)  # of the last sentence that was tagged
    probability = tag_sentences(ours, DEV.sentences[-1:])[0].probabilities[0, 3].item()
    assert probability == pytest.approx(marginal, abs=0.05)  # theirs does not forbid any tags


def test_a_saved_crf_predicts_the_same(crf, tmp_path):
    model = WordModel(crf, Settings())
    model.save(tmp_path / "crf")
    loaded = metacross.load(tmp_path / "crf")
    for before, after in zip(model.predict_stream(DEV), loaded.predict_stream(DEV), strict=True):
        assert before == after
        np.testing.assert_allclose(before.probabilities, after.probabilities, atol=1e-6)
    assert loaded.labels == ("LOC", "PER")
    assert not loaded.adapts


def test_probabilities_of_words_sum_to_one(crf):
    (prediction,) = WordModel(crf, Settings()).predict_words([["ana", "went", "to", "york"]])
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1, atol=1e-5)
    assert prediction.tags == TAGS.tags
    assert all(0 < score <= 1 for score in prediction.scores)


def test_a_bilstm_saves_and_labels_the_same(tmp_path):
    model = WordModel(bilstm(), Settings())
    model.save(tmp_path / "lstm")
    loaded = metacross.load(tmp_path / "lstm")
    for before, after in zip(model.predict_stream(DEV), loaded.predict_stream(DEV), strict=True):
        np.testing.assert_allclose(before.probabilities, after.probabilities, atol=1e-6)


def test_padding_does_not_change_the_scores_of_a_bilstm():
    tagger = bilstm()
    short, long = Sentence(("ana", "slept")), Sentence(tuple("abcdefgh"))
    alone, together = tagger.emissions([short]), tagger.emissions([short, long])
    torch.testing.assert_close(alone[0], together[0])
    assert torch.isfinite(tagger.emissions([Sentence(("ana",))])[0]).all()  # nothing to attend to


def test_an_unknown_character_hides_no_other_character():
    tagger = bilstm()
    scores = {
        word: tagger.emissions([Sentence((word,))])[0] for word in ("zan", "z☃an", "zan☃", "za")
    }  # none of them has a vector
    torch.testing.assert_close(scores["z☃an"], scores["zan"])
    torch.testing.assert_close(scores["zan☃"], scores["zan"])
    assert not torch.allclose(scores["za"], scores["zan"])


def test_what_needs_an_encoder_is_refused(crf):
    with pytest.raises(ModelError, match="found a crf tagger, which has none"):
        WordModel(crf, Settings()).fine_tune(CORPUS)


def test_co_decoding_takes_the_most_confident_model_and_o_yields():
    first = torch.tensor([[0.9, 0.1, 0.0], [0.3, 0.6, 0.1], [0.9, 0.05, 0.05]])
    second = torch.tensor([[0.4, 0.6, 0.0], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    together = co_decoded([first, second])
    torch.testing.assert_close(together, torch.stack([second[0], second[1], first[2]]))


@pytest.mark.parametrize("rule", ["co-decoding", "mean"])
def test_a_combined_model_saves_and_labels_the_same(crf, tmp_path, rule):
    models = [WordModel(crf, Settings()), WordModel(bilstm(), Settings())]
    model = CombinedModel(models, Settings(), rule=rule)
    model.save(tmp_path / "both")
    loaded = metacross.load(tmp_path / "both")
    assert loaded.rule == rule
    assert list(model.predict_stream(DEV)) == list(loaded.predict_stream(DEV))


def test_the_mean_of_two_models_is_the_mean_of_their_probabilities(crf):
    models = [WordModel(crf, Settings()), WordModel(bilstm(), Settings())]
    together = CombinedModel(models, Settings(), rule="mean").predict_stream(DEV)
    for both, *alone in zip(
        together, *(model.predict_stream(DEV) for model in models), strict=True
    ):
        np.testing.assert_allclose(
            both.probabilities, sum(each.probabilities for each in alone) / 2, atol=1e-6
        )


@pytest.mark.parametrize(("decoding", "score"), [("viterbi", 0.35), ("argmax", 0.45)])
def test_a_combined_model_decodes_as_it_is_told(decoding, score):
    """An entity cannot begin with I-PER, which argmax takes all the same."""
    rows = np.array([[0.2, 0.35, 0.45], [0.9, 0.05, 0.05]], np.float32)  # O, B-PER, I-PER
    part = SimpleNamespace(
        labels=("PER",), predict_stream=lambda _: iter([SimpleNamespace(probabilities=rows)])
    )
    settings = load_settings("paper", [f"prediction.decoding={decoding}"])
    model = CombinedModel([part, part], settings, rule="mean")
    (prediction,) = model.predict_stream([Sentence(("Ana", "ran"))])
    assert prediction.spans == (Span(0, 1, "PER"),)
    assert prediction.scores == pytest.approx((score,))


def test_a_combined_model_of_an_unknown_rule_is_refused(crf, tmp_path):
    model = WordModel(crf, Settings())
    CombinedModel([model, model], Settings()).save(tmp_path)
    (tmp_path / "combined.json").write_text('{"models": 2, "rule": "median"}', encoding="utf-8")
    with pytest.raises(ModelError, match="expected the rule co-decoding or mean, found 'median'"):
        metacross.load(tmp_path)


def test_a_combined_model_of_an_earlier_version_co_decodes(crf, tmp_path):
    model = WordModel(crf, Settings())
    CombinedModel([model, model], Settings(), rule="mean").save(tmp_path)
    (tmp_path / "combined.json").write_text('{"models": 2}', encoding="utf-8")
    assert metacross.load(tmp_path).rule == "co-decoding"


def test_features_know_clusters_and_names():
    features = WordFeatures(
        words=False,
        affixes=False,
        clusters=(WordClusters({"bank": "01"}),),
        gazetteer=Gazetteer.of([("Bank of Spain", "ORG"), ("Spain", "LOC")]),
    )
    own = features.of(("The", "Bank", "of", "Spain"))
    assert "cluster0[0]=01" in own[1]
    assert "cluster0[0]=none" in own[0]
    assert "type[0]=B-ORG" in own[1]
    assert "type[0]=I-ORG" in own[3]  # the longer name wins
    assert "type[1]=B-ORG" in own[0]
    assert not any(feature.startswith(("word", "prefix")) for feature in own[1])


def test_a_tag_set_of_other_labels_is_refused(crf, tmp_path):
    WordModel(crf, Settings()).save(tmp_path / "crf")
    mark = tmp_path / "crf" / "metacross.json"
    mark.write_text(mark.read_text().replace('"LOC",', '"LOC", "ORG",'))
    with pytest.raises(ModelError, match="expected CRF weights"):
        metacross.load(tmp_path / "crf")


def test_entities_of_a_corpus_without_some_label_are_learned():
    corpus = Corpus((Sentence(("Ana", "slept"), (Span(0, 1, "PER"),)),) * 3)
    crf = train_linear_crf([corpus], TagSet(("LOC", "PER")), WordFeatures(), CrfSettings())
    (prediction,) = WordModel(crf, Settings()).predict_words([["Ana", "slept"]])
    assert prediction.spans == (Span(0, 1, "PER"),)
