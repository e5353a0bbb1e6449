"""The sentences that are chosen to be labeled next."""

import dataclasses
import inspect
import math

import numpy as np
import pytest

import metacross
import tiny
from metacross.adaptation.prediction import SentencePrediction
from metacross.adaptation.selection import (
    DEFAULT_WAY,
    SelectBy,
    _farthest_first,
    disagreement,
    select,
    uncertainty,
)
from metacross.cli.select import select_command
from metacross.errors import DataError, SettingsError
from metacross.text.sentence import Corpus, Sentence

POOL = tiny.corpus(60, seed=31)


@pytest.fixture(scope="module")
def model(trained_folder):
    return metacross.load(trained_folder, device="cpu")


def made(*rows: list[float]) -> SentencePrediction:
    sentence = Sentence(("w",) * len(rows))
    return SentencePrediction(sentence, (), (), probabilities=np.array(rows, np.float32))


def test_uncertainty_is_one_minus_the_least_margin():
    assert uncertainty(made([0.9, 0.1, 0], [0.5, 0.3, 0.2])) == pytest.approx(0.8)
    assert uncertainty(made([1, 0])) == 0


def test_disagreement_is_the_mean_jensen_shannon_divergence():
    """Against the definition by entropies: H((p+q)/2) - (H(p) + H(q)) / 2."""

    def entropy(row):
        return -sum(p * math.log2(p) for p in row if p)

    p, q = [[0.7, 0.2, 0.1], [1, 0, 0]], [[0.1, 0.6, 0.3], [0, 1, 0]]
    expected = [
        entropy([(a + b) / 2 for a, b in zip(x, y, strict=True)]) - (entropy(x) + entropy(y)) / 2
        for x, y in zip(p, q, strict=True)
    ]
    assert disagreement(made(*p), made(*q)) == pytest.approx(sum(expected) / 2, abs=1e-6)
    assert expected[1] == 1  # bits: nothing in common
    assert disagreement(made(*p), made(*p)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("by", list(SelectBy))
def test_every_way_chooses_different_sentences_with_ranks(model, by):
    chosen = select(model, POOL, n=7, by=by)
    assert [item.rank for item in chosen] == list(range(1, 8))
    assert len({item.sentence.words for item in chosen}) == 7
    for item in chosen:
        assert item.sentence.words == POOL[item.position].words
        assert item.sentence.spans is None


@pytest.mark.parametrize("by", ["uncertainty", "disagreement", "far"])
def test_the_best_by_a_measure_come_first(model, by):
    chosen = select(model, POOL, n=10, by=by)
    values = [item.reasons[by] for item in chosen]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]
    measured = {"uncertainty": _uncertainties, "disagreement": _disagreements, "far": _distances}
    everything = measured[by](model)
    assert values[0] == pytest.approx(max(everything), abs=1e-3)


def _uncertainties(model):
    return [uncertainty(p) for p in model.predict_stream(POOL, adapt=True)]


def _disagreements(model):
    both = [list(model.predict_stream(POOL, adapt=adapt)) for adapt in (True, False)]
    return [disagreement(a, b) for a, b in zip(*both, strict=True)]


def _distances(model):
    return [1 - found[0].similarity for found in model.neighbors(list(POOL), k=1)]


def test_mixed_gives_all_reasons_and_random_none(model):
    (mixed,) = select(model, POOL, n=1, by="mixed")
    assert {*mixed.reasons} == {"disagreement", "uncertainty", "far"}
    (random_one,) = select(model, POOL, n=1, by="random")
    assert random_one.reasons == {}


def test_random_choice_depends_on_the_seed_only(model):
    first, again, other = (
        [item.position for item in select(model, POOL, n=9, by="random", seed=seed)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_labels_of_the_pool_are_not_looked_at(model):
    unlabeled = Corpus(tuple(sentence.with_spans(None) for sentence in POOL))
    with_labels, without = (
        [item.position for item in select(model, pool, n=8, by="mixed")]
        for pool in (POOL, unlabeled)
    )
    assert with_labels == without


def test_farthest_first_is_as_worked_out_by_hand():
    angles = np.deg2rad([0, 10, 90, 100, 180])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert _farthest_first(vectors, [0, 1, 2, 3, 4], 3, None) == [0, 4, 2]
    assert _farthest_first(vectors, [1, 2, 3], 5, None) == [1, 3]  # 100 and 90 are near-copies
    known = vectors[[4]]
    assert _farthest_first(vectors, [0, 1, 2, 3], 1, known) == [0]


def test_copies_are_chosen_once(model):
    sentence = POOL[0]
    pool = Corpus((sentence,) * 5 + tuple(POOL.sentences[1:6]))
    for by in SelectBy:
        words = [item.sentence.words for item in select(model, pool, n=10, by=by)]
        assert len(words) == len(set(words))


def test_sentences_that_are_labeled_or_remembered_are_not_chosen(trained_folder):
    model = metacross.load(trained_folder, device="cpu")
    model.remember(POOL.sentences[:20])
    labeled = POOL.sentences[20:50]
    chosen = select(model, POOL, n=60, by="random", labeled=labeled)
    known = {sentence.words for sentence in POOL.sentences[:50]}
    assert chosen
    assert not known & {item.sentence.words for item in chosen}
    with pytest.raises(DataError, match="not labeled yet, found none"):
        select(model, POOL, n=3, labeled=POOL)


def test_a_model_without_datastore_chooses_by_what_it_can_measure(model):
    plain = metacross.NerModel(dataclasses.replace(model.parts, datastore=None, adapts=False))
    assert len(select(plain, POOL, n=3, by="uncertainty")) == 3
    assert len(select(plain, POOL, n=3, by="random")) == 3
    with pytest.raises(SettingsError, match="mixed cannot be measured"):
        select(plain, POOL, n=3, by="mixed")


def test_a_wrong_call_says_what_is_expected(model):
    with pytest.raises(SettingsError, match="expected one of mixed, disagreement"):
        select(model, POOL, n=3, by="magic")
    with pytest.raises(SettingsError, match="at least 1"):
        select(model, POOL, n=0)


def test_the_command_has_the_same_default():
    assert inspect.signature(select_command).parameters["by"].default == str(DEFAULT_WAY)
