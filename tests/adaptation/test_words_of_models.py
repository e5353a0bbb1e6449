"""A model reads words where sentences are given in characters, and answers in characters."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metacross
import tiny
from metacross.errors import ModelError
from metacross.model.encoder import weights_digest
from metacross.settings import load_settings
from metacross.text.sentence import Corpus, Sentence, Span

NAMES, PLACES, VERBS = ["李明", "王芳"], ["柏林", "巴黎", "上海"], ["工作", "访问", "生活"]
RECIPE = ("masking.ratio=0", "direct.steps=60", "run.validate_every=20", *tiny.FAST[:4])
FIXTURES = Path(__file__).parent.parent / "fixtures"


def in_words() -> Corpus:
    """Sentences such as 李明 在 柏林 工作, in words."""
    spans = (Span(0, 1, "PER"), Span(2, 3, "LOC"))
    return Corpus(
        tuple(
            Sentence((name, "在", place, verb), spans, "zh")
            for name in NAMES
            for place in PLACES
            for verb in VERBS
        )
    )


def in_characters(sentence: Sentence) -> Sentence:
    """The sentence in characters, by hand."""
    starts = np.cumsum([0, *map(len, sentence.words)]).tolist()
    spans = tuple(Span(starts[s.start], starts[s.end], s.label) for s in sentence.spans or ())
    return Sentence(tuple("".join(sentence.words)), spans, sentence.language)


def train(source: Corpus, encoder: str, *overrides: str):
    recipe = load_settings("direct", [*RECIPE, "run.device=cpu", *overrides])
    return metacross.train(source, dev=source, encoder=encoder, recipe=recipe)


@pytest.fixture(scope="module")
def of_words(encoders):
    """A model of sentences that are given in words."""
    return train(in_words(), encoders["qwen3"])


@pytest.fixture(scope="module")
def of_characters(encoders):
    """A model of the same sentences, given in characters."""
    return train(Corpus(tuple(map(in_characters, in_words()))), encoders["qwen3"])


@pytest.mark.parametrize("adapt", [False, True])
def test_characters_get_the_entities_of_their_words(of_words, adapt):
    sentences = in_words().sentences[::5]
    by_word = of_words.predict_words([s.words for s in sentences], adapt=adapt, language="zh")
    by_character = of_words.predict_words(
        [list("".join(s.words)) for s in sentences], adapt=adapt, language="zh"
    )
    assert all(prediction.spans for prediction in by_word)
    for words, characters in zip(by_word, by_character, strict=True):
        assert characters.spans == in_characters(words.labeled).spans
        assert characters.scores == pytest.approx(words.scores, abs=1e-6)
        lengths = [len(word) for word in words.sentence.words]
        assert characters.probabilities == pytest.approx(
            np.repeat(words.probabilities, lengths, axis=0), abs=1e-6
        )
        assert [n.position for n in characters.neighbors] == [n.position for n in words.neighbors]
        assert all(len(unit) == 1 for unit in characters.sentence.words)


def test_an_explanation_has_the_predictions_of_the_model(of_words):
    sentence = in_characters(in_words().sentences[4])
    explanation = of_words.explain(sentence)
    for adapt, explained in ((False, explanation.plain), (True, explanation.adapted)):
        (prediction,) = of_words.predict_stream([sentence], adapt=adapt)
        assert prediction.spans
        assert explained.spans == prediction.spans
        assert explained.probabilities == pytest.approx(prediction.probabilities, abs=1e-6)


def test_raw_text_and_its_characters_predict_alike(of_words):
    text = "李明在柏林工作"
    prediction = of_words.predict(text, language="zh")
    (by_character,) = of_words.predict_words([list(text)], language="zh")
    assert prediction.sentences[0].spans == by_character.spans != ()
    assert [(e.start, e.end) for e in prediction.entities] == [(0, 2), (3, 5)]
    assert [entity.text for entity in prediction.entities] == ["李明", "柏林"]


def test_training_on_characters_is_training_on_their_words(of_words, of_characters):
    assert weights_digest(of_words.tagger.network) == weights_digest(of_characters.tagger.network)


def test_vectors_of_characters_are_those_of_their_words(of_words, of_characters):
    assert np.array_equal(of_words.parts.datastore.vectors, of_characters.parts.datastore.vectors)


def test_neighbors_are_shown_in_the_units_of_the_corpus(of_characters):
    (prediction,) = of_characters.predict_words([list("王芳在巴黎工作")], adapt=True, language="zh")
    (neighbors,) = of_characters.neighbors([prediction.sentence])
    assert prediction.neighbors == neighbors
    for neighbor in neighbors:
        assert all(len(unit) == 1 for unit in neighbor.sentence.words)
        assert [neighbor.sentence.words_of(span) for span in neighbor.sentence.spans]


@pytest.mark.slow
def test_an_outside_encoder_reads_the_same_words(encoders, tmp_path):
    source = Corpus(tuple(map(in_characters, in_words())))
    model = train(source, encoders["qwen3"], f"retrieval.encoder={encoders['llama']}")
    (by_character,) = model.predict_words([list("王芳在巴黎工作")], adapt=True, language="zh")
    (by_word,) = model.predict_words([["王芳", "在", "巴黎", "工作"]], adapt=True, language="zh")
    assert by_character.neighbors == by_word.neighbors != ()


CUT_WORD = Sentence(tuple("北京大学生在上海"), (Span(0, 4, "LOC"), Span(6, 8, "LOC")), "zh")


def test_for_learning_words_are_cut_at_the_edges_of_entities(of_words):
    (example,) = of_words.tagger.examples([CUT_WORD])
    tags = [of_words.tagger.tag_set.tags[i] for i in example.tag_ids]
    assert example.groups.on_units(of_words.tagger.tag_set.spans(example.tag_ids)) == CUT_WORD.spans
    assert tags.count("B-LOC") == 2
    (as_input,) = of_words.tagger.inputs([CUT_WORD])
    assert set(as_input.groups.ends) < set(example.groups.ends)
    assert as_input.tag_ids is None


@pytest.mark.parametrize("adapt", [False, True])
def test_predictions_do_not_depend_on_the_entities_of_the_sentence(of_words, adapt):
    unlabeled = CUT_WORD.with_spans(None)
    (from_labeled,) = of_words.predict_stream([CUT_WORD], adapt=adapt)
    (from_unlabeled,) = of_words.predict_stream([unlabeled], adapt=adapt)
    assert from_labeled.spans == from_unlabeled.spans
    assert np.array_equal(from_labeled.probabilities, from_unlabeled.probabilities)


def test_fine_tuning_on_characters_is_fine_tuning_on_their_words(of_words):
    target = Corpus(in_words().sentences[:4])
    characters = Corpus(tuple(map(in_characters, target)))
    tuned = [of_words.fine_tune(corpus) for corpus in (target, characters)]
    first, second = (weights_digest(model.tagger.network) for model in tuned)
    assert first == second != weights_digest(of_words.tagger.network)


def test_words_are_scored_in_the_units_of_the_corpus(of_words):
    characters = Corpus(tuple(map(in_characters, in_words())))
    report = of_words.evaluate(characters, adapt=False).plain
    assert report.overall.gold == characters.n_entities
    assert report.n_words == characters.n_words
    assert report.overall.f1 == 1.0


def test_a_model_of_an_earlier_version_reads_characters_unless_asked(encoders):
    folder = FIXTURES / "model-0.1"
    sentence = Sentence(tuple("李明在柏林工作"), None, "zh")
    assert metacross.load(folder, device="cpu").tagger.inputs([sentence])[0].groups is None
    changed = metacross.load(folder, device="cpu", encoder={"words": "auto"})
    assert changed.tagger.inputs([sentence])[0].groups.ends == (2, 3, 5, 7)


def test_source_sentences_cannot_be_read_in_other_words_after_training(of_characters, tmp_path):
    of_characters.save(tmp_path / "model")
    again = metacross.load(tmp_path / "model", device="cpu")
    assert again.settings.encoder.words == "auto"
    with pytest.raises(ModelError, match=r"encoder\.words: expected auto, as in training"):
        metacross.load(tmp_path / "model", device="cpu", encoder={"words": "given"})


PARTS = st.sampled_from(
    [
        *(
            "李明在柏林工作",
            "王芳",
            "Ana ",
            "在",
            "，",
            " ",
            "１９９８年",
            "東京タワーへ",
            "ｱﾒﾘｶﾞ",
            "ไปกรุงเทพ",
        ),
        *(
            "شَرْق ",
            "שָׁלוֹם",
            "हिन्दी में",
            "서울",
            "e\u0301",
            "👨\u200d👩\u200d👧",
            "🇯🇵",
            "葛\U000e0100城",
        ),
    ]
)


@pytest.mark.slow
@given(st.lists(PARTS, min_size=1, max_size=6).map("".join), st.sampled_from([None, "zh", "ja"]))
@settings(max_examples=40, deadline=None)
def test_entities_of_mixed_scripts_have_their_text_and_whole_units(of_words, text, language):
    prediction = of_words.predict(text, adapt=False, language=language)
    for part, shift in zip(prediction.sentences, prediction.starts, strict=True):
        offsets = part.sentence.layout.offsets
        for entity in part.entities:
            assert entity.start == offsets[entity.start_word][0]
            assert entity.end == offsets[entity.end_word - 1][1]
        assert len(part.probabilities) == len(part.sentence.words)
        assert text.startswith(part.text, shift)
    for entity in prediction.entities:
        assert text[entity.start : entity.end] == entity.text
