"""Explanations against the textbook loop with the same neighbors."""

from itertools import combinations

import numpy as np
import pytest

import metacross
import tiny
from metacross.adaptation.explanation import explained_subsets
from metacross.adaptation.plain import label_logits
from metacross.adaptation.textbook import adapted, dropout
from metacross.errors import DataError, ModelError

SENTENCE = tiny.corpus(3, seed=31)[1]


def textbook_probabilities(model, sentence, neighbors) -> np.ndarray:
    """Copy the weights, step on these neighbors, label, restore; no step without neighbors."""
    adaptation, tagger = model.settings.adaptation, model.tagger
    (example,) = tagger.examples([sentence])
    with dropout(tagger, enabled=False):
        if not neighbors:
            (logits,) = label_logits(tagger, [example])
        else:
            support = tagger.examples([neighbor.sentence for neighbor in neighbors])
            with adapted(
                tagger,
                support,
                steps=adaptation.steps,
                learning_rate=adaptation.learning_rate,
                max_weight=adaptation.max_weight,
                optimizer=model.settings.optimizer,
            ):
                (logits,) = label_logits(tagger, [example])
    return logits.softmax(dim=1).numpy()


@pytest.mark.parametrize("engine", ["fast", "textbook"])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_every_counterfactual_equals_the_textbook_loop_on_its_neighbors(trained_folder, engine, k):
    model = metacross.load(
        trained_folder,
        device="cpu",
        engine=engine,
        retrieval={"neighbors": k},
        adaptation={"learning_rate": 1e-2},
    )
    explanation = model.explain(SENTENCE)
    assert len(explanation.neighbors) == k
    for counterfactual in explanation.counterfactuals:
        neighbors = [explanation.neighbors[i] for i in sorted(counterfactual.used)]
        expected = textbook_probabilities(model, SENTENCE, neighbors)
        assert np.abs(counterfactual.prediction.probabilities - expected).max() < 1e-5
        assert list(counterfactual.prediction.neighbors) == neighbors
    plain, full = explanation.plain.probabilities, explanation.adapted.probabilities
    assert np.abs(plain - full).max() > 1e-3  # or there would be nothing to explain


def test_first_and_last_are_what_the_model_predicts(trained_folder):
    model = metacross.load(trained_folder, device="cpu")
    explanation = model.explain(SENTENCE)
    (plain,) = model.predict_stream([SENTENCE], adapt=False)
    (full,) = model.predict_stream([SENTENCE], adapt=True)
    assert explanation.plain.spans == plain.spans
    assert explanation.adapted.spans == full.spans
    assert explanation.neighbors == full.neighbors


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_few_neighbors_are_left_out_in_every_way(k):
    every = [set(used) for n in range(k + 1) for used in combinations(range(k), n)]
    assert [set(used) for used in explained_subsets(k)] == every


def test_of_many_neighbors_each_is_alone_once_and_left_out_once():
    subsets = explained_subsets(6)
    assert [len(used) for used in subsets] == [0] + 6 * [1] + 6 * [5] + [6]
    assert len(set(subsets)) == len(subsets)


def test_changed_spans_are_in_some_counterfactuals_and_not_in_others(trained_folder):
    model = metacross.load(trained_folder, device="cpu", adaptation={"learning_rate": 3e-2})
    n_changed = 0
    for sentence in tiny.corpus(20, seed=33):
        explanation = model.explain(sentence)
        found = [c.prediction.spans for c in explanation.counterfactuals]
        for span in {span for spans in found for span in spans}:
            in_all = all(span in spans for spans in found)
            assert (span in explanation.changed_spans) == (not in_all)
        n_changed += len(explanation.changed_spans)
    assert n_changed


def test_a_text_or_words_can_be_explained(trained_folder):
    model = metacross.load(trained_folder, device="cpu")
    by_text, by_words = model.explain("ana saw rome"), model.explain(["ana", "saw", "rome"])
    assert by_text.adapted.spans == by_words.adapted.spans
    assert by_text.with_neighbors(1).neighbors == by_text.neighbors[1:2]
    assert by_text.with_neighbors(7) is None


def test_what_cannot_be_explained_says_why(trained_folder):
    model = metacross.load(trained_folder, device="cpu")
    with pytest.raises(DataError, match="expected at least one word"):
        model.explain("  ")
    with pytest.raises(ModelError, match="has no source sentences"):
        model.fine_tune(tiny.corpus(4, seed=3)).explain("ana")
