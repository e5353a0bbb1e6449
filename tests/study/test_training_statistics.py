"""Means of training curves and validations."""

import random

import pytest

from made_up_study import TRAINING, gold_corpus, made_up_predictions, result_of
from metacross.study.training_statistics import mean_curve, mean_selected_f1


def test_a_mean_curve_has_the_steps_that_all_seeds_have():
    curves = [((1, 2.0), (2, 4.0), (3, 9.0)), ((1, 4.0), (2, 6.0))]
    assert mean_curve(curves) == ((1, 3.0), (2, 5.0))
    assert mean_curve([]) == ()


def test_weights_are_selected_by_source_dev_by_the_last_step_and_by_the_target():
    gold = gold_corpus("es")
    predictions = made_up_predictions(gold, {"plain": 0.5}, random.Random(0))
    other = TRAINING.model_copy(
        update={"best_step": 30, "target_validations": {"es": ((10, 0.2), (20, 0.6), (30, 0.5))}}
    )
    not_validated = TRAINING.model_copy(update={"target_validations": {}})
    results = {
        seed: result_of(gold, predictions, system="ours", seed=seed, training=training)
        for seed, training in enumerate((TRAINING, other, not_validated))
    }
    selected = mean_selected_f1(results)
    assert (selected.by_source, selected.last, selected.oracle) == pytest.approx((40.0, 42.5, 50.0))
    assert mean_selected_f1({2: results[2]}) is None
