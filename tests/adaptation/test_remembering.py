"""A model remembers corrected sentences and learns from them."""

import dataclasses
import json
import shutil
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import metacross
import tiny
from metacross.adaptation.remembering import with_datastore_of
from metacross.errors import DataError, ModelError
from metacross.model.remembered import REMEMBERED, read_remembered, sentence_id
from metacross.text.sentence import Corpus, Sentence, Span

ROOT = Path(__file__).parents[2]
NEW = Sentence(("eva", "went", "to", "bern"), (Span(0, 1, "PER"), Span(3, 4, "LOC")), "es")


@pytest.fixture
def folder(trained_folder, tmp_path) -> Path:
    copy = tmp_path / "model"
    shutil.copytree(trained_folder, copy)
    return copy


@pytest.fixture
def model(folder):
    return metacross.load(folder, device="cpu")


def spans(model, sentences, **options):
    return [prediction.spans for prediction in model.predict_stream(sentences, **options)]


def probabilities(model, sentence):
    (prediction,) = model.predict_stream([sentence], adapt=True)
    return prediction.probabilities


def test_a_remembered_sentence_is_the_nearest_neighbor_of_its_like(model):
    before = model.neighbors([NEW])[0]
    assert all(neighbor.remembered is None for neighbor in before)
    (remembered,) = model.remember([NEW])
    nearest = model.neighbors([NEW.with_spans(None)])[0][0]
    assert nearest.remembered == remembered.id == sentence_id(NEW)
    assert nearest.sentence == NEW
    assert nearest.similarity == pytest.approx(1, abs=1e-4)
    assert nearest.position == len(model.parts.datastore.source)


def test_the_next_prediction_learns_from_it_without_training(model):
    weights = {name: weight.clone() for name, weight in model.tagger.trainable.items()}
    before = probabilities(model, NEW)
    model.remember([NEW])
    after = probabilities(model, NEW)
    assert not np.allclose(before, after, atol=1e-6)
    gold = model.tagger.tag_set.ids(NEW.spans, len(NEW.words))
    loss_before, loss_after = (
        -np.log([rows[i, tag] for i, tag in enumerate(gold)]).mean() for rows in (before, after)
    )
    assert loss_after < loss_before
    for name, weight in model.tagger.trainable.items():
        assert (weight == weights[name]).all(), name


def test_both_engines_learn_the_same_from_it(folder):
    fast, textbook = (
        metacross.load(folder, device="cpu", engine=engine) for engine in ("fast", "textbook")
    )
    for model in (fast, textbook):
        probabilities(model, NEW)
        model.remember([NEW, *tiny.corpus(5, seed=8)])
    query = Sentence(("lea", "went", "to", "bern"))
    np.testing.assert_allclose(
        probabilities(fast, query), probabilities(textbook, query), atol=1e-4
    )


def test_a_model_that_forgets_predicts_as_before(model):
    sentences = list(tiny.corpus(12, seed=5))
    before = [probabilities(model, sentence) for sentence in sentences]
    remembered = model.remember(tiny.corpus(6, seed=6))
    model.predict_words([list(NEW.words)])
    assert model.forget([remembered[0].id])
    assert len(model.remembered) == len(remembered) - 1
    assert len(model.forget(item.sentence for item in remembered)) == len(remembered) - 1
    assert model.remembered == ()
    for sentence, expected in zip(sentences, before, strict=True):
        np.testing.assert_allclose(probabilities(model, sentence), expected, atol=1e-5)


def test_positions_stay_right_after_forgetting_some(model):
    items = model.remember(tiny.corpus(8, seed=7))
    model.predict_words([list(item.sentence.words) for item in items])  # fills the caches
    model.forget([items[0].id, items[3].id])
    fresh = metacross.NerModel(model.parts)
    query = tiny.corpus(10, seed=9).sentences
    assert spans(model, query) == spans(fresh, query)
    for sentence in query:
        np.testing.assert_allclose(
            probabilities(model, sentence), probabilities(fresh, sentence), atol=1e-5
        )


def test_the_same_words_are_remembered_once_with_their_last_labels(model):
    model.remember([NEW])
    corrected = NEW.with_spans((Span(0, 1, "PER"),))
    model.remember([corrected])
    assert [item.sentence for item in model.remembered] == [corrected]
    assert model.neighbors([NEW])[0][0].sentence == corrected


def test_memory_is_kept_in_the_folder_if_asked(model, folder):
    model.remember([NEW])
    assert not (folder / REMEMBERED).exists()
    model.remember([NEW], save=True)
    loaded = metacross.load(folder, device="cpu")
    assert [item.sentence for item in loaded.remembered] == [NEW]
    np.testing.assert_array_equal(loaded.remembered[0].vector, model.remembered[0].vector)
    assert loaded.forget([NEW], save=True)
    assert metacross.load(folder, device="cpu").remembered == ()
    assert not (folder / REMEMBERED).exists()


def test_memory_is_saved_with_the_model(model, tmp_path):
    model.remember(tiny.corpus(3, seed=4))
    model.save(tmp_path / "other")
    assert metacross.load(tmp_path / "other", device="cpu").remembered == model.remembered
    model.forget(model.remembered[i].id for i in range(3))
    model.save(tmp_path / "other")
    assert metacross.load(tmp_path / "other", device="cpu").remembered == ()


def test_the_file_is_json_lines_that_say_where_a_sentence_came_from(model, folder, write):
    corrected = write("corrected.conll", "eva B-PER\nwent O\n")
    model.remember(corrected, save=True)
    header, record = map(json.loads, (folder / REMEMBERED).read_text().splitlines())
    assert header["format"] == 1
    assert record["tokens"] == ["eva", "went"]
    assert record["tags"] == ["B-PER", "O"]
    assert record["source"] == f"{corrected}:1"
    assert record["time"].endswith("+00:00")
    assert read_remembered(folder)[0].source == f"{corrected}:1"


def test_processes_that_remember_at_once_lose_nothing(folder):
    models = [metacross.load(folder, device="cpu") for _ in range(4)]

    def work(number: int) -> None:
        for count in range(5):
            words = ("eva", f"{number}", f"{count}")
            models[number].remember([Sentence(words, (Span(0, 1, "PER"),))], save=True)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_remembered(folder)) == 20


def test_memory_of_another_model_is_refused(model, folder, encoders, tmp_path):
    model.remember([NEW], save=True)
    path = folder / REMEMBERED
    header, *records = path.read_text().splitlines()
    changed = {**json.loads(header), "source_vectors": "0" * 16}
    path.write_text("\n".join([json.dumps(changed), *records]) + "\n")
    with pytest.raises(ModelError, match="another model remembered these sentences"):
        metacross.load(folder, device="cpu")


@pytest.mark.parametrize(
    "content", ["", "x\n", "{}\n", '{"format": 1}\n', '{"format": 7}\n', "\xff"]
)
def test_a_damaged_file_is_an_error_with_its_name(folder, content):
    (folder / REMEMBERED).write_text(content, "latin-1")
    with pytest.raises(ModelError, match=REMEMBERED):
        metacross.load(folder, device="cpu")


def test_a_vector_of_another_width_is_an_error_with_the_name_of_the_file(model, folder):
    model.remember([NEW], save=True)
    header, record = (folder / REMEMBERED).read_text().splitlines()
    damaged = {**json.loads(record), "vector": "AAAAAA=="}
    (folder / REMEMBERED).write_text(f"{header}\n{json.dumps(damaged)}\n")
    message = rf"{REMEMBERED}: expected vectors of \d+ numbers, found 1"
    with pytest.raises(ModelError, match=message):
        metacross.load(folder, device="cpu")


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_words_with_characters_that_end_lines_elsewhere_are_remembered(model, folder, separator):
    sentence = Sentence((f"eva{separator}ruiz", "went"), (Span(0, 1, "PER"),))
    model.remember([sentence], save=True)
    (item,) = metacross.load(folder, device="cpu").remembered
    assert item.sentence == sentence


def test_only_labeled_sentences_with_known_labels_are_remembered(model):
    with pytest.raises(DataError, match="expected a labeled sentence to remember"):
        model.remember([NEW.with_spans(None)])
    with pytest.raises(DataError, match="DATE"):
        model.remember([Sentence(("mayo",), (Span(0, 1, "DATE"),))])
    assert model.remembered == ()


def test_a_model_without_datastore_cannot_remember(model):
    plain = metacross.NerModel(dataclasses.replace(model.parts, datastore=None, adapts=False))
    assert plain.remembered == ()
    with pytest.raises(ModelError, match="no datastore to remember"):
        plain.remember([NEW])


def test_a_model_that_is_in_no_folder_cannot_save_its_memory(model):
    unsaved = metacross.NerModel(model.parts)
    with pytest.raises(ModelError, match="expected a model folder on this machine"):
        unsaved.remember([NEW], save=True)
    assert unsaved.remembered == ()


def test_a_fine_tuned_model_can_adapt_to_the_sentences_of_the_first(model):
    target = tiny.corpus(8, seed=3)
    tuned = model.fine_tune(target)
    both = metacross.NerModel(with_datastore_of(tuned.parts, model.parts))
    both.remember(target)
    (prediction,) = both.predict_stream([target[0].with_spans(None)])
    assert prediction.neighbors[0].sentence == target[0]
    assert np.isfinite(prediction.probabilities).all()


def test_an_empty_corpus_changes_nothing(model):
    assert model.remember(Corpus(())) == ()
    assert model.forget(["unknown"]) == ()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_the_memory_survives_random_kills(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.remember_kills import kill_many

    report = kill_many(folder, kills=40, seed=3)
    assert report.kills == 40
    assert report.changed > 5  # the kills came at moments that matter
    assert not (folder / REMEMBERED).read_text().endswith("}")
