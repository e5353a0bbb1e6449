"""A trained model, as Python users call it."""

import numpy as np
import pytest
import torch

import metacross
import tiny
from metacross.adaptation import sentence_adapter
from metacross.errors import DataError
from metacross.model.decoding import best_tags
from metacross.model.encoder import weights_digest
from metacross.settings import load_settings
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.windows import WindowCutter


@pytest.fixture
def model(trained_folder):
    return metacross.load(trained_folder, device="cpu")


def test_predicting_leaves_the_model_bit_identical(model):
    before = weights_digest(model.tagger.network)
    first = list(model.predict_stream(tiny.corpus(5, seed=9), adapt=True))
    again = list(model.predict_stream(tiny.corpus(5, seed=9), adapt=True))
    assert first == again
    assert weights_digest(model.tagger.network) == before


def test_adapting_changes_the_prediction_where_it_must(encoders, tmp_path):
    """The only source sentences say that "rain" is a person; a large step on them must show."""
    source = Corpus(
        tuple(Sentence(("rain", "in", w), (Span(0, 1, "PER"),)) for w in ("oslo", "rome"))
    )
    recipe = load_settings(
        "direct",
        [
            *tiny.FAST,
            "direct.steps=1",
            "direct.learning_rate=1e-9",
            "adaptation.learning_rate=0.05",
            "adaptation.steps=5",
        ],
    )
    model = metacross.train(source, dev=source, encoder=encoders["bert"], recipe=recipe)
    sentence = Sentence(("rain", "in", "york"))
    (plain,) = model.predict_stream([sentence], adapt=False)
    (adapted_prediction,) = model.predict_stream([sentence], adapt=True)
    assert plain.spans != (Span(0, 1, "PER"),)
    assert adapted_prediction.spans == (Span(0, 1, "PER"),)
    assert [n.position for n in adapted_prediction.neighbors] in ([0, 1], [1, 0])
    assert plain.neighbors == ()


def test_scores_are_the_mean_probability_of_the_entity_s_words(model):
    sentence = next(
        found.sentence for found in model.predict_stream(tiny.corpus(20, seed=4)) if found.spans
    )
    for prediction in model.predict_stream(tiny.corpus(20, seed=4), adapt=False):
        assert len(prediction.scores) == len(prediction.spans)
        assert all(0 < score <= 1 for score in prediction.scores)
    (example,) = model.tagger.examples([sentence])
    with torch.no_grad():
        probabilities = model.tagger.logits(model.tagger.batch([example])).softmax(dim=1).numpy()
    (prediction,) = model.predict_stream([sentence], adapt=False)
    assert prediction.spans
    assert prediction.probabilities == pytest.approx(probabilities, abs=1e-5)
    assert prediction.tags == model.tagger.tag_set.tags
    for span, score in zip(prediction.spans, prediction.scores, strict=True):
        best = probabilities[span.start : span.end].max(axis=1)
        assert score == pytest.approx(float(np.mean(best)), abs=1e-5)


def test_raw_text_words_and_a_sentence_predict_alike(model):
    words = ("ana", "went", "to", "york", ".")
    (by_words,) = model.predict_words([words])
    by_text = model.predict("ana went to york.").sentences[0]
    (by_sentence,) = model.predict_stream([Sentence(words)])
    assert by_words.spans == by_text.spans == by_sentence.spans
    assert by_text.sentence.layout.offsets[3] == (12, 16)


def test_predictions_come_in_order_and_one_a_sentence(model):
    sentences = tiny.corpus(150, seed=8)
    for adapt in (False, True):
        found = list(model.predict_stream(iter(sentences), adapt=adapt))
        assert [prediction.sentence for prediction in found] == list(sentences)


TEXTS = ["  Ana went to Oslo.", "tom saw bern and the old rain"]


def test_entities_carry_their_text_and_character_offsets(model):
    texts = [f"  {' '.join(sentence.words)} " for sentence in tiny.corpus(20, seed=4)]
    prediction = next(found for found in model.predict(texts) if found.entities)
    for entity in prediction.entities:
        assert prediction.text[entity.start : entity.end] == entity.text
        words = prediction.sentences[0].sentence.words[entity.start_word : entity.end_word]
        assert "".join(words) == entity.text.replace(" ", "")
        assert entity.label in model.labels
        assert 0 < entity.score <= 1


def test_a_list_of_texts_gives_a_list_of_predictions_equal_to_one_by_one(model):
    predictions = model.predict(TEXTS)
    assert [prediction.text for prediction in predictions] == TEXTS
    for text, prediction in zip(TEXTS, predictions, strict=True):
        alone = model.predict(text)
        assert [(e.start, e.end, e.label) for e in prediction.entities] == [
            (e.start, e.end, e.label) for e in alone.entities
        ]
        assert len(prediction.sentences[0].neighbors) == 2


@pytest.mark.parametrize("adapt", [False, True])
def test_a_document_has_the_entities_of_its_sentences_shifted(model, adapt):
    corpus = tiny.corpus(12, seed=4)
    sentences = [" ".join(w for w in s.words if w != ".").capitalize() + "." for s in corpus]
    document = " ".join(sentences)
    prediction = model.predict(document, adapt=adapt, language="en")
    expected, shift = [], 0
    for sentence in sentences:
        for entity in model.predict(sentence, adapt=adapt, language="en").entities:
            expected.append((entity.start + shift, entity.end + shift, entity.label, entity.text))
        shift += len(sentence) + 1
    assert expected
    assert [(e.start, e.end, e.label, e.text) for e in prediction.entities] == expected
    assert len(prediction.sentences) == len(sentences)
    for start, part in zip(prediction.starts, prediction.sentences, strict=True):
        assert document.startswith(part.text, start)


def test_each_sentence_of_a_document_has_its_own_neighbors(model):
    prediction = model.predict("Ana went to Oslo. The old rain fell.", adapt=True)
    first, second = prediction.sentences
    for part in (first, second):
        (alone,) = model.predict(part.text, adapt=True).sentences
        assert [n.position for n in part.neighbors] == [n.position for n in alone.neighbors]


def test_a_text_without_words_has_no_entities(model):
    empty, full = model.predict([" ", "ana in oslo"])
    assert (empty.entities, empty.sentences) == ((), ())
    assert full.sentences


def test_neighbors_come_with_their_sentences(model):
    (prediction,) = model.predict_words([["ana", "in", "oslo"]])
    source = model.parts.datastore.source
    assert len(prediction.neighbors) == 2
    for neighbor in prediction.neighbors:
        assert neighbor.sentence == source[neighbor.position]


def test_a_stream_takes_texts_words_and_sentences(model):
    items = ["ana in oslo", ["ana", "in", "oslo"], Sentence(("ana", "in", "oslo"))]
    predictions = list(model.predict_stream(items))
    assert [p.sentence.words for p in predictions] == [("ana", "in", "oslo")] * 3
    assert len({p.spans for p in predictions}) == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: m.predict([["ana"]]), "expected a text or a list of texts, found list"),
        (lambda m: m.predict_words(["ana in oslo"]), "use predict for texts"),
        (lambda m: m.predict_words([[1, 2]]), "expected a list of words"),
        (lambda m: list(m.predict_stream(["ana", " "])), "sentence 2: expected at least one word"),
    ],
)
def test_input_of_the_wrong_kind_says_what_to_call(model, call, says):
    with pytest.raises(DataError, match=says):
        call(model)


def test_a_prediction_shows_itself_as_html_and_escapes_the_text(model):
    html = model.predict("ana <b>in</b> oslo & rome")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    labeled = next(p for p in model.predict_stream(tiny.corpus(20, seed=4)) if p.spans)
    assert labeled._repr_html_().count("<mark") == len(labeled.spans)


def test_index_and_engine_are_not_built_without_adaptation(trained_folder, monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("built")

    monkeypatch.setattr(sentence_adapter, "build_index", refuse)
    monkeypatch.setattr(sentence_adapter, "FastEngine", refuse)
    model = metacross.load(trained_folder, device="cpu")
    assert model.predict("ana in oslo", adapt=False).sentences


def test_a_sentence_is_tokenized_once_for_retrieval_and_adaptation(model, monkeypatch):
    model.predict("ana in oslo")  # its neighbors are tokenized now
    calls = []
    original = WindowCutter.windows

    def counted(self, sentences):
        calls.append(len(sentences))
        return original(self, sentences)

    monkeypatch.setattr(WindowCutter, "windows", counted)
    model.predict("ana in oslo")
    assert calls == [1]


@pytest.mark.parametrize("adapt", [False, True])
def test_how_tags_are_chosen_can_change_after_training(trained_folder, adapt):
    entities = {}
    for decoding in ("viterbi", "argmax"):
        model = metacross.load(trained_folder, device="cpu", prediction={"decoding": decoding})
        classifier, generator = model.tagger.network.classifier, torch.Generator().manual_seed(0)
        torch.nn.init.normal_(classifier.weight, generator=generator)
        classifier.bias.data[2::2] += 2  # I- tags are likely, also where they are not valid
        predictions = list(model.predict_stream(tiny.corpus(40, seed=9), adapt=adapt))
        for prediction in predictions:
            tag_ids = best_tags(torch.from_numpy(prediction.probabilities), decoding)
            assert prediction.spans == model.tagger.tag_set.spans(tag_ids)
        entities[decoding] = [prediction.spans for prediction in predictions]
    assert entities["viterbi"] != entities["argmax"]


def test_adaptation_settings_are_overridden_by_values(trained_folder):
    model = metacross.load(
        trained_folder, device="cpu", adaptation={"steps": 3}, retrieval={"neighbors": 4}
    )
    assert model.settings.adaptation.steps == 3
    (prediction,) = model.predict_words([["ana", "in", "oslo"]])
    assert len(prediction.neighbors) == 4


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"adaptation": {"rate": 1}}, "unknown setting adaptation.rate"),
        ({"adaption": {"steps": 1}}, "unknown setting adaption; did you mean adaptation"),
        ({"encoder": {"dropout": 0.5}}, "for others train a new model"),
    ],
)
def test_settings_that_cannot_change_are_refused(trained_folder, overrides, says):
    with pytest.raises(metacross.SettingsError, match=says):
        metacross.load(trained_folder, device="cpu", **overrides)


def test_evaluating_does_what_the_model_was_trained_for(model, encoders):
    target = tiny.corpus(12, seed=5)
    assert model.evaluate(target).adapted is not None
    assert model.evaluate(target, adapt=False).adapted is None
    recipe = load_settings("direct", [*tiny.FAST, "direct.steps=2"])
    direct = metacross.train(target, dev=target, encoder=encoders["bert"], recipe=recipe)
    assert direct.evaluate(target).adapted is None
    assert direct.predict("ana in oslo").sentences[0].neighbors == ()
    assert direct.evaluate(target, adapt=True).adapted is not None


def test_evaluate_reads_a_file(model, tmp_path):
    target = tiny.corpus(12, seed=5)
    metacross.write_corpus(target, tmp_path / "x.conll")
    assert model.evaluate(tmp_path / "x.conll").plain == model.evaluate(target).plain
