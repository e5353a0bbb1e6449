"""The format of a corpus is detected, and Hugging Face data sets are read."""

import io

import pytest

from metacross.errors import DataError, MetacrossError
from metacross.text.reading import Format, ReadOptions, read_corpus, read_stream
from metacross.text.sentence import Corpus, Sentence, Span

CONLL = "Ginebra B-LOC\n. O\n\n"
JSONL = '{"tokens": ["Ginebra", "."], "tags": ["B-LOC", "O"]}\n'
GINEBRA = Corpus((Sentence(("Ginebra", "."), (Span(0, 1, "LOC"),)),))


@pytest.mark.parametrize("name", ["x.conll", "x.txt", "esp.testa", "x.bio", "x"])
def test_conll_is_detected_by_suffix_or_content(write, name):
    assert read_corpus(write(name, CONLL)) == GINEBRA


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.txt", "x"])
def test_json_is_detected_by_suffix_or_content(write, name):
    assert read_corpus(write(name, JSONL)) == GINEBRA


@pytest.mark.parametrize(
    "text", ["Ginebra.\n", "El grupo O .\nNada más\n\nOtra línea .\n", "柏林。\n"]
)
def test_other_text_is_read_as_one_sentence_per_line(write, text):
    corpus = read_corpus(write("x.txt", text), language="es")
    assert len(corpus) == len([line for line in text.split("\n") if line])
    assert all(not sentence.labeled and sentence.language == "es" for sentence in corpus)


def test_a_line_of_text_can_have_several_sentences(write):
    lines = "  Dr. Ruiz slept.  Tom ran.\n\nThe end\n"
    corpus = read_corpus(write("x.txt", lines), language="en")
    places = [(s.origin.line, s.origin.start, s.layout.text) for s in corpus]
    assert places == [(1, 0, "  Dr. Ruiz slept.  "), (1, 19, "Tom ran."), (3, 0, "The end")]
    assert corpus[0].words == ("Dr", ".", "Ruiz", "slept", ".")


def test_the_format_can_be_given(write):
    corpus = read_corpus(write("x.conll", "Ginebra O\n"), options=ReadOptions(format=Format.TEXT))
    assert corpus[0].words == ("Ginebra", "O")


def test_a_stream_yields_a_sentence_before_the_next_one_is_read():
    class CountingStream(io.BytesIO):
        lines_read = 0

        def readline(self, limit=-1):
            self.lines_read += 1
            return super().readline(limit)

    stream = CountingStream(CONLL.encode() * 1000)
    sentences = read_stream(stream, "<stdin>", options=ReadOptions(format=Format.CONLL))
    assert next(sentences).words == ("Ginebra", ".")
    assert stream.lines_read < 10


def test_labels_can_be_renamed_and_dropped(write):
    corpus = read_corpus(write("x.conll", "a B-person\nb B-MISC\nc B-LOC\n"))
    renamed = corpus.relabeled({"person": "PER", "MISC": None})
    assert renamed[0].spans == (Span(0, 1, "PER"), Span(2, 3, "LOC"))


@pytest.fixture
def saved_dataset(tmp_path):
    datasets = pytest.importorskip("datasets")
    names = ["O", "B-LOC", "I-LOC"]
    features = datasets.Features(
        {
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(datasets.ClassLabel(names=names)),
        }
    )
    rows = {"tokens": [["Ginebra", "."], []], "ner_tags": [[1, 0], []]}
    dataset = datasets.Dataset.from_dict(rows, features=features)
    datasets.DatasetDict({"train": dataset, "test": dataset}).save_to_disk(tmp_path / "two")
    dataset.save_to_disk(tmp_path / "one")
    return tmp_path


def test_a_saved_data_set_is_read_with_its_tag_names(saved_dataset):
    for source in (
        f"hub:{saved_dataset}/two@test",
        f"hub:{saved_dataset}/one",
        saved_dataset / "one",
    ):
        corpus = read_corpus(source)
        assert corpus == GINEBRA
        assert corpus.notes.empty_sentences == 1


def test_a_data_set_with_several_splits_needs_the_name_of_one(saved_dataset):
    with pytest.raises(DataError, match=r"split of train, test, found none; .*hub:.*two@train"):
        read_corpus(saved_dataset / "two")


def test_the_error_about_a_missing_data_set_has_one_line():
    with pytest.raises(MetacrossError) as error:
        read_corpus("hub:nobody/nothing@train")
    assert "\n" not in str(error.value)
