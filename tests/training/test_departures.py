"""Where the released code departs from the paper: settings above the line, defects below it.

Each test above the line shows that the setting makes the difference; each below, that the defect
is not ours.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

import metacross
import tiny
from metacross.adaptation.optimizers import Adam, learning_rate_factor
from metacross.metrics.scoring import score
from metacross.model.encoder import layers_of
from metacross.model.tagger import freeze
from metacross.settings import load_settings
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.training.masking import EpochMasker
from metacross.training.sampling import Draw
from tiny import tagger_on

PAPER, RELEASED = load_settings("paper"), load_settings("official-code")


@pytest.fixture(scope="module")
def model(trained_folder):
    return metacross.load(trained_folder, device="cpu")


def with_settings(model, **sections):
    """The same model under other settings, adapting by the textbook loop."""
    parts = replace(model.parts, settings=model.settings.model_copy(update=sections))
    return metacross.adaptation.ner_model.NerModel(parts, engine="textbook")


def test_neighbors_are_ranks_1_to_k_and_in_the_released_code_2_to_k_plus_1(model):
    sentences = tiny.corpus(6, seed=7).sentences
    ours = with_settings(model, retrieval=PAPER.retrieval)
    theirs = with_settings(model, retrieval=RELEASED.retrieval)
    for best, paper, released in zip(
        ours.neighbors(sentences, k=3),
        ours.neighbors(sentences),
        theirs.neighbors(sentences),
        strict=True,
    ):
        assert paper == best[:2]
        assert released == best[1:3]


def test_three_layers_are_frozen_and_in_the_released_code_four(encoders):
    for settings, n_frozen in ((PAPER, 3), (RELEASED, 4)):
        network = tagger_on(encoders["bert"]).network
        freeze(network, settings.encoder.frozen_layers)
        frozen = [not next(layer.parameters()).requires_grad for layer in layers_of(network)]
        assert frozen == [number < n_frozen for number in range(4)]


def test_the_support_is_masked_and_in_the_released_code_the_query_only(encoders):
    tagger = tagger_on(encoders["bert"])
    examples = tagger.examples(tiny.corpus(30))
    all_masked = {"ratio": 1.0}
    for settings, support_too in ((PAPER, True), (RELEASED, False)):
        masking = settings.masking.model_copy(update=all_masked)
        masker = EpochMasker(tagger, examples, settings.model_copy(update={"masking": masking}))
        for position, example in enumerate(examples):
            has_entities = any(example.tag_ids)
            assert (masker.query(Draw(position, 0)) != example) == has_entities
            assert (masker.support(Draw(position, 0)) != example) == (has_entities and support_too)


def first_step(settings, gradient):
    weight = {"w": torch.nn.Parameter(torch.ones(1, 2))}
    Adam(weight, settings.optimizer).step([torch.tensor([gradient])], 0.1)
    return weight["w"][0].tolist()


def test_adam_has_bias_correction_and_no_decay_and_the_released_code_the_contrary():
    # With bias correction the first step is the learning_rate in every direction.
    assert first_step(PAPER, [0.3, 0.4]) == pytest.approx([0.9, 0.9], abs=1e-5)
    # Without, it is .1 g / sqrt(.001 g^2) = 3.162 rates, and 1 % of the weight decays.
    wanted = 1 - 0.1 * (0.1 / np.sqrt(0.001)) - 0.1 * 0.01
    assert first_step(RELEASED, [0.3, 0.4]) == pytest.approx([wanted, wanted], abs=1e-4)


def test_gradients_are_clipped_at_norm_1_in_the_released_code_only():
    for settings, longest in ((PAPER, 500.0), (RELEASED, 1.0)):
        weight = {"w": torch.nn.Parameter(torch.ones(1, 2))}
        adam = Adam(weight, settings.optimizer)
        adam.step([torch.tensor([[300.0, 400.0]])], 0.1)
        norm = adam.state()["mean.w"].norm().item() / 0.1
        assert norm == pytest.approx(longest, rel=1e-3)


def test_rates_are_constant_and_in_the_released_code_rise_and_fall():
    paper, released = (
        [learning_rate_factor(settings.schedule, step, 100) for step in (0, 5, 10, 55, 99)]
        for settings in (PAPER, RELEASED)
    )
    assert paper == [1.0] * 5
    assert released == pytest.approx([0.0, 0.5, 1.0, 0.5, 0.0111], abs=1e-3)


def test_dropout_is_off_in_adaptation_and_in_the_released_code_on(model):
    sentence = tiny.corpus(1, seed=7)[0]
    seen = []
    original = model.tagger.loss

    def watched(*arguments, **options):
        seen.append(model.tagger.network.training)
        return original(*arguments, **options)

    model.tagger.loss = watched
    try:
        for settings in (PAPER, RELEASED):
            with_settings(model, adaptation=settings.adaptation).predict_words(
                [sentence.words], adapt=True
            )
    finally:
        del model.tagger.loss
    assert seen == [False, True]
    assert not model.tagger.network.training


# --- below the line ---


def test_later_pieces_and_specials_are_no_classes_and_never_count(encoders):
    tagger = tagger_on(encoders["bert"])
    assert tagger.tag_set.tags == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    sentence = Sentence(("xyz", "ana"), (Span(1, 2, "PER"),))
    (example,) = tagger.examples([sentence])
    batch = tagger.batch([example])
    assert batch.piece_ids.shape == (1, 6)  # [CLS] x ##y ##z ana [SEP]
    assert batch.piece_of_word.tolist() == [1, 4]
    assert batch.tag_ids.tolist() == [0, 3]


def test_a_word_in_two_windows_is_scored_once(encoders):
    tagger = tagger_on(encoders["bert"], "encoder.max_length=12", "encoder.overlap=6")
    sentence = tiny.corpus(1, seed=3, longest=60)[0]
    (example,) = tagger.examples([sentence])
    assert sum(len(window) - 2 for window in example.windows) > len(sentence.words)
    batch = tagger.batch([example])
    assert len(batch.tag_ids) == len(sentence.words)
    weights = torch.bincount(batch.sentence_of_word)
    assert weights.tolist() == [len(sentence.words)]


def test_every_test_sentence_is_scored_once_the_last_one_too(model):
    corpus = tiny.corpus(7, seed=5)
    last = Sentence(("ana", "in", "oslo"), (Span(0, 1, "PER"), Span(2, 3, "LOC")), "en")
    corpus = Corpus((*corpus.sentences, last))
    found = list(model.predict_stream(corpus, adapt=True))
    assert [prediction.sentence for prediction in found] == list(corpus)
    report = score(corpus, Corpus(tuple(prediction.labeled for prediction in found)))
    assert report.overall.gold == corpus.n_entities


def test_a_batch_in_which_nothing_is_masked_trains(encoders):
    recipe = load_settings("paper", [*tiny.FAST, "masking.ratio=0.0", "meta.steps=1"])
    bare = tiny.corpus(12)
    assert metacross.train(bare, dev=bare, encoder=encoders["bert"], recipe=recipe)


def test_a_word_without_pieces_neither_shifts_labels_nor_stops_the_run(model):
    words = ("ana", "\u200b", "\x07", "rome")
    (prediction,) = model.predict_words([words], adapt=True)
    assert prediction.sentence.words == words
    assert all(span.end <= 4 for span in prediction.spans)
    (example,) = model.tagger.examples([Sentence(words, (Span(3, 4, "LOC"),))])
    assert example.tag_ids == (0, 0, 0, 1)
    batch = model.tagger.batch([example])
    pieces = batch.piece_ids[0, batch.piece_of_word]
    assert model.tagger.tokenizer.fast.convert_ids_to_tokens(pieces)[3] == "rome"
