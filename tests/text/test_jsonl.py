"""JSON lines are read."""

import json

import pytest

from metacross.errors import DataError
from metacross.text.reading import ReadOptions, read_corpus
from metacross.text.sentence import Span


def read(write, *records, language=None, **options):
    text = "".join(json.dumps(record) + "\n" for record in records)
    path = write("x.jsonl", text)
    return read_corpus(path, language=language, options=ReadOptions(**options))


@pytest.mark.parametrize("key", ["tags", "ner_tags"])
def test_tokens_with_tags_are_read(write, key):
    corpus = read(write, {"tokens": ["Nueva", "York", "."], key: ["B-LOC", "I-LOC", "O"]})
    assert corpus[0].words == ("Nueva", "York", ".")
    assert corpus[0].spans == (Span(0, 2, "LOC"),)


def test_tokens_without_tags_are_unlabeled(write):
    assert read(write, {"tokens": ["Nueva"]})[0].spans is None


def test_numbered_tags_get_their_names_from_the_options(write):
    record = {"tokens": ["Nueva", "York"], "ner_tags": [1, 2]}
    corpus = read(write, record, tag_names=("O", "B-LOC", "I-LOC"))
    assert corpus[0].spans == (Span(0, 2, "LOC"),)
    with pytest.raises(DataError, match=r"x\.jsonl:1: .*--tag-names"):
        read(write, record)


@pytest.mark.parametrize(
    "annotations",
    [
        {"spans": [{"start": 7, "end": 17, "label": "LOC"}]},
        {"entities": [{"start": 7, "end": 17, "label": "LOC"}]},
        {"label": [[7, 17, "LOC"]]},
        {"spans": [{"start": 6, "end": 18, "label": "LOC"}]},
    ],
    ids=["spans", "entities", "triples", "with surrounding spaces"],
)
def test_text_with_character_spans_is_read(write, annotations):
    sentence = read(write, {"text": "Vivo a Nueva York , hoy", **annotations})[0]
    assert sentence.words == ("Vivo", "a", "Nueva", "York", ",", "hoy")
    assert sentence.spans == (Span(2, 4, "LOC"),)
    assert sentence.layout is not None
    start, end = sentence.layout.offsets[2][0], sentence.layout.offsets[3][1]
    assert sentence.layout.text[start:end] == "Nueva York"


def test_a_word_is_split_where_an_entity_ends_inside_it(write):
    sentence = read(write, {"text": "Rijnlandroute", "spans": [[0, 9, "LOC"]]})[0]
    assert sentence.words == ("Rijnlandr", "oute")
    assert sentence.spans == (Span(0, 1, "LOC"),)


def test_text_without_spans_is_unlabeled_and_with_an_empty_list_labeled(write):
    corpus = read(write, {"text": "Hola ."}, {"text": "Hola .", "spans": []})
    assert [sentence.spans for sentence in corpus] == [None, ()]


def test_sentences_without_words_are_skipped_and_counted(write):
    corpus = read(
        write, {"tokens": [], "tags": []}, {"text": "  "}, {"tokens": ["a"], "tags": ["O"]}
    )
    assert len(corpus) == 1
    assert corpus.notes.empty_sentences == 2


def test_the_language_of_a_line_overrides_the_default(write):
    corpus = read(write, {"tokens": ["a"], "language": "es"}, {"tokens": ["b"]}, language="fr")
    assert [sentence.language for sentence in corpus] == ["es", "fr"]


@pytest.mark.parametrize("language", [5, None, "", ["es"]])
@pytest.mark.parametrize("content", [{"text": "Ana slept."}, {"tokens": ["Ana"], "tags": ["O"]}])
def test_what_names_no_language_leaves_the_default(write, content, language):
    corpus = read(write, {**content, "language": language}, language="fr")
    assert corpus[0].language == "fr"
    assert read(write, {**content, "language": language})[0].language is None


def test_the_tags_are_kept_as_they_are_in_the_file(write):
    corpus = read(write, {"tokens": ["a", "b"], "tags": ["I-LOC", "I-PER"]}, {"text": "a"})
    assert [sentence.tags for sentence in corpus] == [("I-LOC", "I-PER"), None]
