"""Training and fine-tuning, as Python users call them."""

import pytest
import torch

import metacross
import tiny
from metacross.errors import DataError, RunError, SettingsError
from metacross.model.batching import padding_groups
from metacross.model.encoder import weights_digest
from metacross.settings import load_settings, settings_with
from metacross.text.sentence import Span
from metacross.text.windows import WindowCutter
from metacross.training.batch_training import fine_tuning_settings, mean_loss
from metacross.training.callbacks import Callback

SOURCE, DEV = tiny.corpus(30), tiny.corpus(15, seed=1)
RECIPE = load_settings("paper", tiny.FAST)


def test_dropped_and_renamed_types_apply_to_source_and_dev(encoders):
    recipe = load_settings(
        "direct", [*tiny.FAST, "direct.steps=1", "data.drop=[LOC]", "data.map={PER: NAME}"]
    )
    model = metacross.train(SOURCE, dev=DEV, encoder=encoders["bert"], recipe=recipe)
    assert model.labels == ("NAME",)


def test_source_and_dev_are_tokenized_once(encoders, monkeypatch, tmp_path):
    monkeypatch.setenv("METACROSS_CACHE", str(tmp_path))  # vectors must be computed
    calls = []
    original = WindowCutter.windows

    def counted(self, sentences):
        calls.append(len(sentences))
        return original(self, sentences)

    monkeypatch.setattr(WindowCutter, "windows", counted)
    metacross.train(SOURCE, dev=DEV, encoder=encoders["bert"], recipe=RECIPE)
    assert sorted(calls) == [len(DEV), len(SOURCE)]


def test_callbacks_can_label_with_the_weights_of_the_moment(encoders):
    class Curve(Callback):
        def __init__(self):
            self.label, self.f1s = None, []

        def on_model(self, label):
            self.label = label

        def on_validation(self, step, f1, best):
            predicted = metacross.Corpus(tuple(p.labeled for p in self.label(DEV)))
            self.f1s.append((f1, metacross.score(DEV, predicted).overall.f1))

    curve = Curve()
    metacross.train(SOURCE, dev=DEV, encoder=encoders["bert"], recipe=RECIPE, callbacks=[curve])
    assert len(curve.f1s) == 2
    assert all(ours == theirs for ours, theirs in curve.f1s)


def test_fine_tuning_leaves_its_model_alone(trained_folder):
    model = metacross.load(trained_folder, device="cpu", fine_tuning={"learning_rate": 0.01})
    before, spans = weights_digest(model.tagger.network), model.predict("ana in oslo").entities
    tuned = model.fine_tune(tiny.corpus(20, seed=3), fraction=0.5)
    assert weights_digest(model.tagger.network) == before
    assert weights_digest(tuned.tagger.network) != before
    assert model.adapts
    assert not tuned.adapts
    assert model.predict("ana in oslo").entities == spans


def test_fine_tuning_reads_a_file_and_saves_the_model(trained_folder, tmp_path):
    metacross.write_corpus(tiny.corpus(20, seed=3), tmp_path / "es.conll")
    model = metacross.load(trained_folder, device="cpu")
    tuned = model.fine_tune(tmp_path / "es.conll", n_sentences=5, output=tmp_path / "es")
    again = metacross.load(tmp_path / "es", device="cpu")
    assert weights_digest(again.tagger.network) == weights_digest(tuned.tagger.network)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"fraction": 0.5, "n_sentences": 3}, "found both"),
        ({"fraction": 0.0}, "fraction: expected a number above 0"),
        ({"n_sentences": 99}, "expected 1 to 20 sentences"),
    ],
)
def test_a_wrong_part_of_the_target_text_is_refused(trained_folder, options, says):
    model = metacross.load(trained_folder, device="cpu")
    with pytest.raises(SettingsError, match=says):
        model.fine_tune(tiny.corpus(20, seed=3), **options)


def test_target_text_with_unknown_types_is_refused(trained_folder):
    target = metacross.Corpus((metacross.Sentence(("x",), (Span(0, 1, "ORG"),)),), source="es")
    with pytest.raises(DataError, match="es: expected the entity types LOC, PER, found ORG too"):
        metacross.load(trained_folder, device="cpu").fine_tune(target)


def test_a_mini_batch_in_groups_of_similar_length_has_the_same_gradient(encoders):
    tagger = tiny.tagger_on(encoders["bert"])
    examples = tagger.examples(tiny.corpus(12, longest=40))
    assert len(padding_groups([example.n_pieces for example in examples])) > 1
    weights = list(tagger.trainable.values())
    grouped = torch.autograd.grad(mean_loss(tagger, examples, max_weight=1.0), weights)
    together = torch.autograd.grad(tagger.loss(tagger.batch(examples), max_weight=1.0), weights)
    for gradient, expected in zip(grouped, together, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("recipe", ["direct", "paper"])
def test_the_source_gets_the_capitals_of_the_target(encoders, write, tmp_path, recipe):
    raw = write("de.txt", "das Haus ist alt\nein Baum und ein Hund\n" * 5)
    for name, setting in (("nouns", "data.casing=nouns"), ("text", f"data.match_casing={raw}")):
        settings = load_settings(
            recipe, [*tiny.FAST, "direct.steps=2", "meta.steps=2", setting, "masking.ratio=0.3"]
        )
        model = metacross.train(
            SOURCE, dev=DEV, encoder=encoders["bert"], recipe=settings, output=tmp_path / name
        )
        source = model.parts.datastore.source
        assert [s.spans for s in source] == [s.spans for s in SOURCE]
        assert [s.words for s in source] != [s.words for s in SOURCE]
        assert [[w.lower() for w in s.words] for s in source] == [list(s.words) for s in SOURCE]


def test_two_ways_to_choose_capitals_are_refused(encoders):
    settings = load_settings("direct", ["data.casing=nouns", "data.match_casing=x.txt"])
    with pytest.raises(SettingsError, match=r"data\.casing or data\.match_casing, found both"):
        metacross.train(SOURCE, dev=DEV, encoder=encoders["bert"], recipe=settings)


def test_neighbors_of_every_language_are_another_training(encoders, tmp_path):
    settings = load_settings("paper", [*tiny.FAST, f"encoder.name={encoders['bert']}"])
    split = settings_with(settings, {"retrieval": {"split_languages": True}})
    corpus, dev = tiny.corpus(20), tiny.corpus(5, seed=1)
    metacross.train(corpus, dev=dev, recipe=split, output=tmp_path)
    with pytest.raises(RunError, match=r"retrieval.split_languages = True, now False"):
        metacross.train(corpus, dev=dev, recipe=settings, output=tmp_path)


def test_a_long_fine_tuning_has_checkpoints():
    settings = load_settings("paper", ["run.checkpoint_every=50", "fine_tuning.epochs=10"])
    changed = fine_tuning_settings(settings, 400)
    assert changed.direct.steps > changed.run.checkpoint_every == 50
