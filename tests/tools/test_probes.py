"""The two tests of an encoder."""

import pytest

import tiny
from metacross.text.sentence import Sentence
from metacross.training.callbacks import Callback
from tools.mini_encoder import entity_probe as entity_probe_module
from tools.mini_encoder.entity_probe import entity_probe, probe_settings
from tools.mini_encoder.retrieval_probe import retrieval_probe


class StepCounter(Callback):
    def __init__(self) -> None:
        self.n_sentences: list[int] = []

    def on_step_end(self, step, result):
        self.n_sentences.append(result.n_items)


def test_the_entity_probe_trains_everything_for_two_epochs():
    settings = probe_settings("mini", n_sentences=14_041, seed=3)
    assert settings.direct.steps * settings.direct.batch_size == pytest.approx(2 * 14_041, abs=16)
    assert settings.encoder.frozen_layers is None
    assert settings.run.seed == 3


@pytest.mark.slow
def test_the_entity_probe_reads_every_source_sentence_twice():
    counter = StepCounter()
    corpus = tiny.corpus(64)
    entity_probe("mini", corpus, {"en": corpus}, seed=1, callbacks=[counter])
    assert counter.n_sentences == [32] * 4


@pytest.mark.slow
def test_a_longer_entity_probe_learns_the_entities(monkeypatch):
    monkeypatch.setattr(entity_probe_module, "_EPOCHS", 15)
    source, dev = tiny.corpus(64), tiny.corpus(30, seed=1)
    short = entity_probe("mini", source, {"en": dev}, seed=1)["en"]
    assert short > 0.8


@pytest.mark.slow
def test_labels_that_a_dev_corpus_does_not_have_are_ignored(monkeypatch):
    monkeypatch.setattr(entity_probe_module, "_EPOCHS", 15)
    source = tiny.corpus(64)
    only_places = tiny.corpus(30, seed=1).relabeled({"PER": None})
    assert list(only_places.entities_by_label) == ["LOC"]
    assert entity_probe("mini", source, {"en": only_places}, seed=1)["en"] > 0.8


@pytest.mark.slow
def test_every_sentence_finds_itself_as_its_translation():
    sentences = [Sentence(("Ana", "saw", "Rome")), Sentence(("the", "old", "rain", "fell"))]
    pairs = {"en": [(sentence, sentence) for sentence in sentences]}
    assert retrieval_probe("mini", pairs, seed=1) == {"en": 1.0}
