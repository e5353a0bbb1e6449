"""How a model sees a text without gold labels."""

from dataclasses import replace

import pytest

import metacross
import tiny
from metacross.adaptation.language_report import (
    LanguageReport,
    correlations_with_f1,
    report_language,
    spread_sample,
)
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import tags_from_spans


@pytest.fixture(scope="module")
def model(trained_folder):
    return metacross.load(trained_folder, device="cpu", adaptation={"learning_rate": 0.01})


def raw(corpus):
    return Corpus(tuple(sentence.with_spans(None) for sentence in corpus), source="raw")


def test_the_measures_are_those_of_the_predictions(model):
    corpus = raw(tiny.corpus(12, seed=3))
    report = report_language(model, corpus)
    plain = list(model.predict_stream(corpus, adapt=False))
    adapted = list(model.predict_stream(corpus, adapt=True))
    tags = [
        [tag for p in predictions for tag in tags_from_spans(p.spans, len(p.sentence.words))]
        for predictions in (plain, adapted)
    ]
    changed = [before != after for before, after in zip(*tags, strict=True)]
    assert any(changed)
    assert report.changed_words == pytest.approx(sum(changed) / corpus.n_words)
    similarities = [
        n.similarity for neighbors in model.neighbors(corpus.sentences) for n in neighbors
    ]
    assert report.similarity == pytest.approx(sum(similarities) / len(similarities), abs=1e-5)
    best = [max(word) for prediction in adapted for word in prediction.probabilities.tolist()]
    assert report.confidence == pytest.approx(sum(best) / len(best))
    assert report.f1 is None


def test_pieces_and_unknown_pieces_are_counted_by_hand(model):
    words = ("ana", "went", "zz", "日", "!")  # whole words, two letters, two unknown
    report = report_language(model, Corpus((Sentence(words),) * 3))
    assert report.pieces_per_word == pytest.approx(6 / 5)
    assert report.unknown_pieces == pytest.approx(2 / 6)


def test_pieces_in_the_overlap_of_windows_count_once(model):
    words = ("ana", "zz") * 100  # 300 pieces in windows of 128
    report = report_language(model, Corpus((Sentence(words),)))
    assert report.pieces_per_word == pytest.approx(1.5)


def test_a_labeled_text_has_its_f1_beside_it(model):
    corpus = tiny.corpus(15, seed=4)
    report = report_language(model, corpus)
    assert report.f1 == pytest.approx(model.evaluate(corpus).f1)
    assert report_language(model, corpus, f1=0.25).f1 == 0.25


def test_a_model_that_does_not_adapt_has_no_neighbors_to_compare(model):
    plain = metacross.NerModel(replace(model.parts, datastore=None, adapts=False))
    report = report_language(plain, raw(tiny.corpus(5)))
    assert report.similarity is None
    assert report.changed_words is None


def test_a_sample_is_spread_over_the_text_and_no_longer():
    sentences = tiny.corpus(10).sentences
    assert spread_sample(sentences, 4) == [sentences[i] for i in (0, 2, 5, 7)]
    assert spread_sample(sentences, 10) == [*sentences] == spread_sample(sentences, 99)


def report_with(f1, similarity):
    return LanguageReport("x", 1, 1, None, 1.0, 0.0, similarity, None, 0.5, f1)


def test_correlation_needs_four_languages_with_a_known_f1():
    reports = [report_with(f1, f1 * 2) for f1 in (0.1, 0.2, 0.3, 0.4)]
    assert correlations_with_f1(reports) == {"similarity": 1.0}
    assert correlations_with_f1([*reports[:3], report_with(None, 0.5)]) == {}
