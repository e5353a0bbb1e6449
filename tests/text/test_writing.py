"""A corpus that is written reads back equal."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metacross.errors import DataError
from metacross.text.reading import Format, ReadOptions, read_corpus
from metacross.text.sentence import Corpus, Layout, Sentence, Span
from metacross.text.tags import Scheme
from metacross.text.writing import write_corpus

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
WORDS = TEXT.filter(bool)
COLUMN_WORDS = WORDS.filter(lambda w: not ({"\n", "\t"} & {*w} or w.startswith("-DOCSTART-")))


@st.composite
def labeled(draw, words=WORDS):
    sentence_words = draw(st.lists(words, min_size=1, max_size=8))
    boundaries = sorted(draw(st.sets(st.integers(0, len(sentence_words)), max_size=6)))
    pairs = list(zip(boundaries[::2], boundaries[1::2], strict=False))
    spans = tuple(Span(s, e, draw(st.sampled_from(["PER", "a-b"]))) for s, e in pairs)
    return Sentence(tuple(sentence_words), spans)


@st.composite
def laid_out(draw):
    words = draw(st.lists(WORDS, min_size=1, max_size=6))
    text, offsets = draw(TEXT), []
    for word in words:
        offsets.append((len(text), len(text) + len(word)))
        text += word + draw(TEXT)
    spans = draw(st.sampled_from([None, (), (Span(0, 1, "LOC"),)]))
    return Sentence(tuple(words), spans, "es", layout=Layout(text, tuple(offsets)))


IN_A_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@IN_A_FOLDER
@given(st.lists(labeled(COLUMN_WORDS), min_size=1, max_size=3), st.sampled_from(Scheme))
def test_conll_reads_back_equal(tmp_path, sentences, scheme):
    if scheme is Scheme.IO:
        scheme = Scheme.IOB2  # IO cannot separate adjacent entities
    write_corpus(sentences, tmp_path / "x.conll", scheme=scheme)
    assert read_corpus(tmp_path / "x.conll") == Corpus(tuple(sentences))


@IN_A_FOLDER
@given(st.lists(labeled() | laid_out(), min_size=1, max_size=3))
def test_json_lines_read_back_equal(tmp_path, sentences):
    write_corpus(sentences, tmp_path / "x.jsonl")
    assert read_corpus(tmp_path / "x.jsonl") == Corpus(tuple(sentences))


@IN_A_FOLDER
@given(st.lists(COLUMN_WORDS, min_size=1, max_size=5))
def test_unlabeled_conll_reads_back_equal_or_is_rejected(tmp_path, words):
    sentence = Sentence(tuple(words))
    try:
        write_corpus([sentence], tmp_path / "x.conll")
    except DataError:
        assert any(" " in word or word.endswith("\r") for word in words)
        return
    options = ReadOptions(format=Format.CONLL)
    assert read_corpus(tmp_path / "x.conll", options=options) == Corpus((sentence,))


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "", "-DOCSTART-"])
def test_a_word_that_conll_cannot_contain_is_rejected_and_nothing_is_written(tmp_path, word):
    path = tmp_path / "x.conll"
    path.write_text("old")
    with pytest.raises(DataError, match="JSON lines"):
        write_corpus([Sentence(("a",), ()), Sentence((word,), ())], path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.conll"]


@pytest.mark.parametrize("label", ["a\tb", "a\nb", " a", "a "])
def test_a_label_that_conll_cannot_contain_is_rejected_and_nothing_is_written(tmp_path, label):
    path = tmp_path / "x.conll"
    with pytest.raises(DataError, match=r"the label .* cannot be written as CoNLL.*--map"):
        write_corpus([Sentence(("Ana",), (Span(0, 1, label),))], path)
    assert not path.exists()


def test_json_lines_contain_word_and_character_offsets(tmp_path):
    sentence = Sentence(("En", "Nueva", "York"), (Span(1, 3, "LOC"),))
    write_corpus([sentence], tmp_path / "x.jsonl")
    record = json.loads((tmp_path / "x.jsonl").read_text())
    assert record["spans"] == [
        {
            "label": "LOC",
            "start": 1,
            "end": 3,
            "start_char": 3,
            "end_char": 13,
            "text": "Nueva York",
        }
    ]


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written: Not a directory"):
        write_corpus([Sentence(("a",), ())], tmp_path / "file" / "x.conll")


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot be written: No such file or directory"):
        write_corpus([Sentence(("a",), ())], tmp_path / "no" / "x.conll")


@pytest.mark.parametrize("order", [1, -1])
def test_conll_cannot_mix_sentences_with_and_without_labels(tmp_path, order):
    sentences = [Sentence(("Ana", "ran"), (Span(0, 1, "PER"),)), Sentence(("Nobody", "looked"))]
    path = tmp_path / "x.conll"
    with pytest.raises(DataError, match=r"'Nobody looked': expected labels .*\.jsonl.*--lossy"):
        write_corpus(sentences[::order], path)
    assert not path.exists()
