"""A student learns the probabilities of a teacher."""

import numpy as np
import pytest
import torch

import metacross
import tiny
from metacross.errors import DataError, RunError
from metacross.settings import load_settings
from metacross.training.callbacks import Callback
from metacross.training.distillation import (
    SoftSentence,
    distill,
    distillation_settings,
    soft_examples,
    soft_loss,
)

RAW = tiny.corpus(40, seed=5)
NO_TAG = torch.tensor([-100, -100])


def taught(corpus, *, hard=False):
    """What a teacher that knows everything says, with a little doubt."""
    sentences = []
    for sentence in corpus:
        tag_ids = tiny.TAGS.ids(sentence.spans, len(sentence.words))
        probabilities = np.full((len(tag_ids), 5), 0.02, np.float32)
        probabilities[np.arange(len(tag_ids)), tag_ids] = 0.92
        sentences.append(
            SoftSentence(sentence.with_spans(None), probabilities, tag_ids if hard else None)
        )
    return sentences


def settings_on(encoder, *changes):
    fast = [
        "distillation.epochs=30",
        "distillation.batch_size=8",
        "distillation.learning_rate=1e-2",
    ]
    return load_settings("paper", [*tiny.FAST, f"encoder.name={encoder}", *fast, *changes])


def test_the_soft_loss_and_its_gradient_are_those_worked_out_by_hand():
    logits = torch.tensor([[0.3, -0.2, 0.5], [1.0, 0.0, -1.0]], requires_grad=True)
    targets = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    weights = torch.tensor([1.0, 0.5])
    loss = soft_loss(logits, targets, NO_TAG, weights, hard_weight=1.0)
    loss.backward()
    expected, gradient = 0.0, torch.zeros(2, 3)
    for word in range(2):
        p = torch.exp(logits[word].detach())
        p = p / p.sum()
        error = p - targets[word]
        expected += weights[word] * (error**2).sum() / 3 / 2
        for k in range(3):  # d p_i / d logit_k = p_i (1[i = k] - p_k)
            slope = sum(2 * error[i] * p[i] * ((i == k) * 1.0 - p[k]) for i in range(3))
            gradient[word, k] = weights[word] * slope / 3 / 2
    assert loss.item() == pytest.approx(expected.item())
    torch.testing.assert_close(logits.grad, gradient)


def test_hard_labels_add_the_cross_entropy_of_their_words():
    logits, targets = torch.randn(2, 3), torch.full((2, 3), 1 / 3)
    soft = soft_loss(logits, targets, NO_TAG, torch.ones(2), hard_weight=1.0)
    both = soft_loss(logits, targets, torch.tensor([-100, 2]), torch.ones(2), hard_weight=0.5)
    entropy = -logits[1].log_softmax(0)[2]
    assert both.item() == pytest.approx((soft + 0.5 * entropy).item())


def test_a_student_learns_what_its_teacher_knows(encoders, tmp_path):
    model = distill(taught(RAW), ("LOC", "PER"), settings_on(encoders["bert"]), output=tmp_path)
    assert model.evaluate(tiny.corpus(20, seed=1)).f1 > 0.9
    assert not model.adapts
    assert metacross.load(tmp_path).labels == ("LOC", "PER")


def test_a_stopped_distillation_resumes_to_the_same_weights(encoders, tmp_path):
    class Stop(Callback):
        def on_step_end(self, step, result):
            if step == 3:
                raise RunError("stopped")

    settings = settings_on(encoders["bert"], "distillation.epochs=1")
    arguments = taught(RAW), ("LOC", "PER"), settings
    whole = distill(*arguments, output=tmp_path / "whole")
    with pytest.raises(RunError, match="stopped"):
        distill(*arguments, output=tmp_path / "stopped", callbacks=[Stop()])
    resumed = distill(*arguments, output=tmp_path / "stopped")
    for name, weight in whole.tagger.trainable.items():
        torch.testing.assert_close(weight, resumed.tagger.trainable[name], atol=0, rtol=0)


def test_targets_stay_with_their_words_when_lengths_differ(encoders):
    tagger = tiny.tagger_on(encoders["bert"])
    soft = soft_examples(tagger, taught(RAW))
    for example, sentence in zip(soft, RAW, strict=True):
        assert example.probabilities.shape == (len(sentence.words), 5)
        expected = tiny.TAGS.ids(sentence.spans, len(sentence.words))
        assert example.probabilities.argmax(1).tolist() == list(expected)


def test_distillation_takes_whole_epochs():
    settings = distillation_settings(settings_on("x", "distillation.epochs=3"), 40)
    assert settings.direct.steps == 15
    assert settings.run.method == "direct"
    assert settings.masking.ratio == 0


def test_no_sentences_are_refused(encoders):
    with pytest.raises(DataError, match="expected sentences with soft labels"):
        distill([], ("LOC",), settings_on(encoders["bert"]))
