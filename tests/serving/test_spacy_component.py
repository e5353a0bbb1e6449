"""The spaCy component in this process, against the model itself and against spaCy's own parts."""

import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

import metacross
import tiny
from metacross.errors import ModelError, SettingsError
from metacross.serving import spacy_component as _registers_the_factory  # noqa: F401

TEXTS = [
    "ana saw rome . then tom went to old york .",
    "",
    " \n\t ",
    "eva went to\n\n  lima and bern .",
    "the rain in oslo .",
]


@pytest.fixture(scope="module")
def model(names_folder) -> metacross.NerModel:
    return metacross.load(names_folder)


@pytest.fixture
def pipeline_with(names_folder):
    def make(pipeline_language: str = "en", **config) -> spacy.Language:
        nlp = spacy.blank(pipeline_language)
        nlp.add_pipe("metacross", config={"model": str(names_folder), **config})
        return nlp

    return make


def entities(doc: Doc) -> list[tuple[str, str, int, int]]:
    return [(ent.text, ent.label_, ent.start_char, ent.end_char) for ent in doc.ents]


def predicted(prediction: metacross.Prediction) -> list[tuple[str, str, int, int]]:
    return [(e.text, e.label, e.start, e.end) for e in prediction.entities]


def test_the_model_of_these_tests_finds_entities(model):
    found = [entity.text for text in TEXTS for entity in model.predict(text).entities]
    assert found == ["ana", "rome", "tom", "york", "eva", "lima", "bern", "oslo"]


@pytest.mark.parametrize("words", ["spacy", "metacross"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_entities_are_those_of_the_model(pipeline_with, model, words, text):
    doc = pipeline_with(words=words)(text)
    assert entities(doc) == predicted(model.predict(text, language="en"))


def test_the_tokens_have_the_entities_as_spacy_writes_them(pipeline_with):
    nlp = pipeline_with()
    doc = nlp(TEXTS[0])
    written = nlp.make_doc(TEXTS[0])
    written.ents = [Span(written, ent.start, ent.end, ent.label_) for ent in doc.ents]
    assert doc.ents
    assert [(t.ent_iob_, t.ent_type_) for t in doc] == [(t.ent_iob_, t.ent_type_) for t in written]


def test_the_scores_are_those_of_the_model(pipeline_with, model):
    doc = pipeline_with()(TEXTS[0])
    scores = [entity.score for entity in model.predict(TEXTS[0]).entities]
    assert scores
    assert [ent._.metacross_score for ent in doc.ents] == pytest.approx(scores, abs=1e-6)
    assert doc.spans["metacross"].attrs["scores"] == pytest.approx(scores, abs=1e-6)
    assert list(doc.spans["metacross"]) == list(doc.ents)


def test_a_file_of_documents_keeps_the_scores_of_the_span_group(pipeline_with):
    doc = pipeline_with()(TEXTS[0])
    (read,) = DocBin(docs=[doc]).get_docs(doc.vocab)
    assert read.spans["metacross"].attrs["scores"] == doc.spans["metacross"].attrs["scores"]
    assert [ent._.metacross_score for ent in read.ents] == [None] * len(doc.ents)


def test_many_documents_get_what_each_of_them_gets(pipeline_with):
    nlp = pipeline_with(batch_size=2)
    texts = TEXTS * 3
    together, alone = list(nlp.pipe(texts)), [nlp(text) for text in texts]
    assert [doc.text for doc in together] == texts
    assert sum(len(doc.ents) for doc in together) > 0
    for doc, expected in zip(together, alone, strict=True):
        assert entities(doc) == entities(expected)
        scores = expected.spans["metacross"].attrs["scores"]
        assert doc.spans["metacross"].attrs["scores"] == pytest.approx(scores, abs=1e-5)


def test_the_sentences_of_a_batch_are_labeled_together(pipeline_with, monkeypatch):
    nlp = pipeline_with(batch_size=3)
    model = nlp.get_pipe("metacross").ner_model
    sizes, predict_stream = [], model.predict_stream

    def counted(sentences, **options):
        listed = list(sentences)
        sizes.append(len(listed))
        return predict_stream(listed, **options)

    monkeypatch.setattr(model, "predict_stream", counted)
    list(nlp.pipe(["ana saw rome ."] * 7))
    assert sizes == [3, 3, 1]


def test_a_blank_document_has_no_entities_and_tokens_outside_them(pipeline_with):
    doc = pipeline_with()(" \n ")
    assert doc.ents == ()
    assert len(doc.spans["metacross"]) == 0
    assert [token.ent_iob_ for token in doc] == ["O"] * len(doc)


def test_the_sentences_of_another_component_are_used(pipeline_with, model):
    nlp = pipeline_with(keep_neighbors=True)
    nlp.add_pipe("sentencizer", config={"punct_chars": ["and"]}, before="metacross")
    doc = nlp("ana saw rome and tom went to york .")
    assert [sentence.text for sentence in doc.sents] == ["ana saw rome and", "tom went to york ."]
    expected = model.predict_words([sentence.text.split() for sentence in doc.sents])
    words = [[doc.text.split()[i] for i in range(ent.start, ent.end)] for ent in doc.ents]
    spans = [(p.sentence, span) for p in expected for span in p.spans]
    assert spans
    assert words == [list(sentence.words_of(span)) for sentence, span in spans]
    assert [s["start"] for s in doc._.metacross_neighbors] == [0, 17]


def test_an_entity_inside_a_token_is_widened_to_it(pipeline_with, model):
    text = "ana saw lima."
    assert [entity.text for entity in model.predict(text).entities] == ["ana", "lima"]
    nlp = pipeline_with(words="metacross")
    doc = nlp.get_pipe("metacross")(Doc(nlp.vocab, words=text.split()))
    assert [ent.text for ent in doc.ents] == ["ana", "lima."]


def test_a_chinese_pipeline_finds_the_entities_of_the_model(pipeline_with, model):
    text = "安娜去北京。 王明在罗马。"
    doc = pipeline_with("zh")(text)
    assert [token.text for token in doc] == list(text.replace(" ", ""))
    assert [ent.text for ent in doc.ents] == ["安娜", "北京", "王明", "罗马"]
    assert entities(doc) == predicted(model.predict(text, language="zh"))


def test_longer_tokens_of_a_chinese_pipeline_are_words(pipeline_with, model):
    words = ["安娜", "去", "北京", "。"]
    nlp = pipeline_with("zh")
    doc = nlp.get_pipe("metacross")(Doc(nlp.vocab, words=words, spaces=[False] * 4))
    (prediction,) = model.predict_words([words], language="zh")
    assert prediction.spans
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [
        (span.start, span.end, span.label) for span in prediction.spans
    ]


def test_overlapping_entities_of_one_token_become_one(pipeline_with, model):
    text = "ana.rome saw eva"
    assert [entity.text for entity in model.predict(text).entities] == ["ana", "rome", "eva"]
    nlp = pipeline_with(words="metacross")
    doc = nlp.get_pipe("metacross")(Doc(nlp.vocab, words=text.split()))
    assert [ent.text for ent in doc.ents] == ["ana.rome", "eva"]
    assert len(doc.spans["metacross"].attrs["scores"]) == 2


def test_without_overwrite_earlier_entities_stay(pipeline_with):
    nlp = pipeline_with(overwrite=False)
    ruler = nlp.add_pipe("entity_ruler", before="metacross")
    ruler.add_patterns([{"label": "TEAM", "pattern": "saw rome", "id": "team-7"}])
    doc = nlp("ana saw rome . tom went to oslo .")
    assert ("saw rome", "TEAM", 4, 12) in entities(doc)
    assert [ent.ent_id_ for ent in doc.ents if ent.label_ == "TEAM"] == ["team-7"]
    assert ("oslo", "LOC", 27, 31) in entities(doc)
    assert "rome" in [span.text for span in doc.spans["metacross"]]


def test_with_overwrite_earlier_entities_go(pipeline_with, model):
    nlp = pipeline_with()
    nlp.add_pipe("entity_ruler", before="metacross").add_patterns(
        [{"label": "TEAM", "pattern": "saw rome"}]
    )
    doc = nlp("ana saw rome .")
    assert entities(doc) == predicted(model.predict("ana saw rome ."))


def test_the_span_group_can_be_left_out(pipeline_with):
    doc = pipeline_with(spans_key=None)(TEXTS[0])
    assert doc.ents
    assert not doc.spans


def test_neighbors_are_kept_on_request(pipeline_with, model):
    doc = pipeline_with(keep_neighbors=True)(TEXTS[0])
    expected = model.predict(TEXTS[0], language="en").sentences
    assert len(expected) == 2
    for ent in doc.ents:
        sentence = expected[ent.start_char >= TEXTS[0].index("then")]
        kept = ent._.metacross_neighbors
        assert [n["position"] for n in kept] == [n.position for n in sentence.neighbors]
        for neighbor, dictionary in zip(sentence.neighbors, kept, strict=True):
            assert dictionary["text"] == " ".join(neighbor.sentence.words)
            assert dictionary["similarity"] == pytest.approx(neighbor.similarity, abs=1e-6)
            labels = [span.label for span in neighbor.sentence.spans]
            assert [entity["label"] for entity in dictionary["entities"]] == labels


def test_neighbors_are_not_kept_unless_requested(pipeline_with):
    doc = pipeline_with()(TEXTS[0])
    assert doc._.metacross_neighbors is None
    assert doc.ents[0]._.metacross_neighbors is None


def test_adapt_and_settings_reach_the_model(pipeline_with, model, names_folder):
    plain = pipeline_with(adapt=False)(TEXTS[0])
    expected = [entity.score for entity in model.predict(TEXTS[0], adapt=False).entities]
    assert plain.spans["metacross"].attrs["scores"] == pytest.approx(expected, abs=1e-6)
    large_step = {"adaptation": {"learning_rate": 0.01}}
    changed = pipeline_with(settings=large_step)(TEXTS[0])
    other = metacross.load(names_folder, **large_step).predict(TEXTS[0])
    assert entities(changed) == predicted(other)
    scores = changed.spans["metacross"].attrs["scores"]
    assert scores == pytest.approx([entity.score for entity in other.entities], abs=1e-5)
    assert scores != pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("pipeline_language", "config", "expected"),
    [("es", {}, "es"), ("xx", {}, None), ("xx", {"language": "fr"}, "fr")],
)
def test_the_language_is_that_of_the_pipeline(pipeline_with, pipeline_language, config, expected):
    component = pipeline_with(pipeline_language, **config).get_pipe("metacross")
    assert component.options.language == expected


def test_evaluation_by_spacy_has_the_f1_of_spacys_own_scorer(pipeline_with):
    nlp = pipeline_with()
    examples = [
        Example.from_dict(
            nlp.make_doc(" ".join(sentence.words)),
            {"entities": [(e.start, e.end, e.label) for e in _gold(sentence)]},
        )
        for sentence in tiny.corpus(10, seed=2)
    ]
    scores = nlp.evaluate(examples)
    for example in examples:
        example.predicted = nlp(example.predicted.text)
    assert 0 < scores["ents_f"] <= 1
    assert scores["ents_f"] == Scorer.score_spans(examples, "ents")["ents_f"]


def _gold(sentence: metacross.Sentence) -> tuple[metacross.Entity, ...]:
    scores = (1.0,) * len(sentence.spans)
    return metacross.SentencePrediction(sentence, sentence.spans, scores).entities


def test_a_failing_batch_goes_to_the_error_handler(pipeline_with, monkeypatch):
    nlp = pipeline_with(batch_size=2)
    component = nlp.get_pipe("metacross")
    annotate = component._annotate

    def failing(docs):
        if any("tom" in doc.text for doc in docs):
            raise ModelError("this one")
        annotate(docs)

    monkeypatch.setattr(component, "_annotate", failing)
    handled = []
    nlp.set_error_handler(lambda name, _, docs, error: handled.append((name, len(docs), error)))
    texts = ["ana .", "rome .", "tom .", "lima .", "oslo ."]
    assert [doc.text for doc in nlp.pipe(texts)] == ["ana .", "rome .", "oslo ."]
    assert [(name, n, str(error)) for name, n, error in handled] == [("metacross", 2, "this one")]


def test_the_model_is_loaded_by_the_first_document(pipeline_with, monkeypatch, tmp_path):
    nlp = pipeline_with(model="no/such/folder")
    assert nlp.pipe_labels == {"metacross": []}
    with pytest.raises(ModelError, match="no/such/folder: expected a model folder, found nothing"):
        nlp("ana")


def test_a_relative_folder_is_found_after_a_change_of_directory(
    pipeline_with, names_folder, monkeypatch, tmp_path
):
    monkeypatch.chdir(names_folder.parent)
    nlp = pipeline_with(model=names_folder.name)
    monkeypatch.chdir(tmp_path)
    assert nlp(TEXTS[0]).ents


def test_a_pipeline_without_model_says_how_to_name_one(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("metacross", name="names")
    for use in (lambda: nlp("ana"), lambda: nlp.to_disk(tmp_path), nlp.to_bytes):
        with pytest.raises(
            ModelError, match="names: expected a model, found none; give its folder"
        ):
            use()


@pytest.mark.parametrize(
    "config", [{"words": "characters"}, {"batch_size": "many"}, {"neighbours": True}]
)
def test_a_wrong_setting_is_refused_when_the_pipeline_is_made(pipeline_with, config):
    with pytest.raises(ValueError, match=next(iter(config))):
        pipeline_with(**config)


def test_batches_without_documents_are_refused(pipeline_with):
    with pytest.raises(SettingsError, match="batch_size: expected at least 1, found 0"):
        pipeline_with(batch_size=0)


def test_labels_are_known_before_the_model_is_loaded(pipeline_with):
    nlp = pipeline_with()
    assert nlp.pipe_labels == {"metacross": ["LOC", "PER"]}
    assert nlp.get_pipe("metacross")._model is None


def test_the_analysis_of_pipelines_knows_what_is_assigned(pipeline_with):
    nlp = pipeline_with()
    assigned = nlp.analyze_pipes()["summary"]["metacross"]["assigns"]
    assert {"doc.ents", "token.ent_iob", "token.ent_type", "doc.spans"} <= set(assigned)
