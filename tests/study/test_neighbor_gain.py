"""The gain by adaptation in quarters, against arithmetic done by hand."""

import random
from dataclasses import replace

import numpy as np
import pytest

from made_up_study import (
    QUALITIES,
    digest_of,
    gold_corpus,
    made_up_predictions,
    made_up_study,
    result_of,
    summed_by_hand,
)
from metacross.metrics.significance import f1
from metacross.study.neighbor_gain import gain_by_quarter
from metacross.study.predictions import StoredPredictions
from metacross.study.results import StoredSentence, StudyFolder
from metacross.study.statistics import ResultsGrid
from metacross.text.sentence import Corpus, Sentence, Span


def test_quarters_by_hand(tmp_path):
    """Eight sentences, an entity each: adaptation fixes the two with the most similar neighbors and
    breaks the one with the least similar neighbors.
    """
    person, place = (Span(0, 1, "PER"),), (Span(0, 1, "LOC"),)
    gold = Corpus(tuple(Sentence((f"w{n}",), person, "es") for n in range(8)))
    similarity = [0.8, 0.1, 0.7, 0.2, 0.6, 0.3, 0.5, 0.4]
    plain = [place, person, place, person, person, person, person, person]
    adapted = [person, place, person, person, person, person, person, person]
    predictions = [
        StoredSentence(
            {"plain": plain[n], "adapted": adapted[n]},
            ((0, similarity[n] - 0.05), (1, similarity[n] + 0.05)),
        )
        for n in range(8)
    ]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    result = result_of(gold, predictions, system="ours")
    study.add(result, predictions)
    quarters = gain_by_quarter(StoredPredictions(study), {0: result})
    assert [round(quarter.lowest, 6) for quarter in quarters] == [0.1, 0.3, 0.5, 0.7]
    assert [round(quarter.highest, 6) for quarter in quarters] == [0.2, 0.4, 0.6, 0.8]
    assert [quarter.gain for quarter in quarters] == pytest.approx([-50.0, 0.0, 0.0, 100.0])
    assert [quarter.n_sentences for quarter in quarters] == [2, 2, 2, 2]
    assert [quarter.n_gold for quarter in quarters] == [2, 2, 2, 2]


def test_quarters_sum_the_counts_of_the_seeds(tmp_path):
    study = made_up_study(tmp_path)
    results = ResultsGrid.of(study.results()).at(0.0, "ours", "es")
    quarters = gain_by_quarter(StoredPredictions(study), results)
    by_seed = [study.sentences(result) for result in results.values()]
    similarity = [
        np.mean([[value for _, value in sentences[n].neighbors] for sentences in by_seed])
        for n in range(60)
    ]
    first = sorted(range(60), key=lambda n: similarity[n])[:15]
    adapted = summed_by_hand(study, "ours", "es", "adapted")[first].sum(axis=0)
    plain = summed_by_hand(study, "ours", "es", "plain")[first].sum(axis=0)
    assert quarters[0].gain == pytest.approx(100 * float(f1(adapted) - f1(plain)))
    assert quarters[0].n_gold == plain[2] / 2


def test_without_neighbors_there_are_no_quarters(tmp_path):
    gold = gold_corpus("es")
    predictions = [
        replace(prediction, neighbors=())
        for prediction in made_up_predictions(gold, QUALITIES["ours"], random.Random(0))
    ]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    result = result_of(gold, predictions, system="ours")
    study.add(result, predictions)
    assert gain_by_quarter(StoredPredictions(study), {0: result}) == []
