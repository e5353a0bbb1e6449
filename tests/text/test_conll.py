"""CoNLL column files are read."""

import pytest

from metacross.errors import DataError
from metacross.text.conll import Columns
from metacross.text.reading import ReadOptions, read_corpus
from metacross.text.sentence import Span

GINEBRA = (("Ginebra", ",", "23", "may"), (Span(0, 1, "LOC"),))


def read(path, **columns):
    return read_corpus(path, options=ReadOptions(columns=Columns(**columns)))


def content(corpus):
    return [(sentence.words, sentence.spans) for sentence in corpus]


@pytest.mark.parametrize(
    "text",
    [
        "Ginebra B-LOC\n, O\n23 O\nmay O\n\n",
        "Ginebra\tB-LOC\n,\tO\n23\tO\nmay\tO\n\n",
        "Ginebra B-LOC\n, O\n23 O\nmay O",
        "Ginebra B-LOC\r\n, O\r\n23 O\r\nmay O\r\n\r\n",
        "\ufeffGinebra B-LOC\n, O\n23 O\nmay O\n",
        "\n\n \nGinebra  B-LOC\n,   O\n23 \t O\nmay O \n\n\n",
        "Ginebra NP I-NP B-LOC\n, , O O\n23 CD I-NP O\nmay NN I-NP O\n",
        "-DOCSTART- O\n\nGinebra B-LOC\n, O\n23 O\nmay O\n",
    ],
    ids=["spaces", "tabs", "no newline", "CRLF", "BOM", "loose", "four columns", "docstart"],
)
def test_all_variants_of_column_files_read_the_same(write, text):
    assert content(read(write("es.conll", text))) == [GINEBRA]


def test_sentences_are_separated_by_blank_lines_and_document_starts(write):
    corpus = read(write("x.conll", "a O\n-DOCSTART- -X- O O\nb O\n\nc O\n"))
    assert [sentence.words for sentence in corpus] == [("a",), ("b",), ("c",)]
    assert corpus.notes.documents == 1


def test_the_origin_is_the_line_of_the_first_word(write):
    path = write("x.conll", "\na O\nb O\n\nc O\n")
    assert [str(sentence.origin) for sentence in read(path)] == [f"{path}:2", f"{path}:5"]


def test_columns_can_be_chosen(write):
    path = write("x.conll", "1 Ginebra B-LOC x\n2 , O x\n3 23 O x\n4 may O x\n")
    assert content(read(path, word=1, tag=2)) == [GINEBRA]
    assert content(read(path, word=1, tag=-2)) == [GINEBRA]


UNER = (
    "# newdoc id = 1\n# sent_id = 1-1\n# text = Ginebra, 23 may\n"
    "1\tGinebra\tB-LOC\t-\tanna\n2\t,\tO\t-\t-\n3\t23\tO\t-\t-\n4\tmay\tO\t-\t-\n\n"
    "# sent_id = 1-2\n# text = # 1\n1\t#\tO\t-\t-\n2\t1\tO\t-\t-\n"
)


def test_comments_of_a_file_with_numbered_words_are_not_words(write):
    assert content(read(write("x.iob2", UNER))) == [GINEBRA, (("#", "1"), ())]


def test_conll_u_has_words_but_no_tags(write):
    rest = "\t_" * 8
    text = f"# text = du vin\n1-2\tdu{rest}\n1\tde{rest}\n2\tle{rest}\n2.1\tx{rest}\n3\tvin{rest}\n"
    assert content(read(write("x.conllu", text))) == [(("de", "le", "vin"), None)]


def test_a_hash_is_a_word_in_an_ordinary_file(write):
    corpus = read(write("x.conll", "#\tO\n1\tO\n\n# O\tO\n"))
    assert [sentence.words for sentence in corpus] == [("#", "1"), ("# O",)]


def test_hash_lines_are_comments_if_the_user_says_so(write):
    path = write("x.conll", "# id 7 domain=en\nParis _ _ B-LOC\n# _ _ O\n")
    corpus = read(path, comments=True)
    assert [sentence.words for sentence in corpus] == [("Paris", "#")]
    with pytest.raises(DataError, match=r":1: .*found 3.*--comments"):
        read(write("y.conll", "# id 7\nParis B-LOC\n"))


def test_one_column_is_words_without_labels(write):
    corpus = read(write("x.conll", "Ginebra\n,\n\nmay\n"))
    assert content(corpus) == [(("Ginebra", ","), None), (("may",), None)]
    assert not corpus.labeled
    assert corpus.notes.scheme is None


@pytest.mark.parametrize(
    "word",
    ["\u00a0", "\u200b", "\u3000", "\ufeff", "a\u0085b", "a\u2028b", "\x07", "a\x0cb", "\x1c"],
)
def test_invisible_words_and_control_characters_are_kept(write, word):
    corpus = read(write("x.conll", f"first O\n{word} B-X\nlast O\n"))
    assert content(corpus) == [(("first", word, "last"), (Span(1, 2, "X"),))]


def test_a_space_is_a_word_in_a_file_with_tabs(write):
    corpus = read(write("x.conll", "a\tO\n \tB-X\n1 000\tO\n"))
    assert content(corpus) == [(("a", " ", "1 000"), (Span(1, 2, "X"),))]


def test_a_sentence_of_a_thousand_words_is_one_sentence(write):
    corpus = read(write("x.conll", "".join(f"w{i} O\n" for i in range(1000))))
    assert [len(sentence.words) for sentence in corpus] == [1000]


def test_latin_1_is_read_if_the_encoding_is_given(write):
    path = write("x.conll", "Málaga B-LOC\n".encode("latin-1"))
    corpus = read_corpus(path, options=ReadOptions(encoding="latin-1"))
    assert corpus[0].words == ("Málaga",)
    with pytest.raises(DataError, match=r"x\.conll:1: expected utf-8, found byte 0xe1.*--encoding"):
        read_corpus(path)


def test_repairs_are_counted_and_reported_with_their_line(write):
    path = write("x.conll", "a B-PER\nb I-PER\n\nc O\nd I-LOC\ne B-LOC\n\n")
    notes = read(path).notes
    assert (notes.scheme, notes.repairs) == ("IOB2", 1)
    assert notes.repair_examples[0].place == f"{path}:5"


def test_the_tags_are_kept_as_they_are_in_the_file(write):
    corpus = read(write("x.conll", "a I-PER\nb B-PER\n\nc O\n"))
    assert [sentence.tags for sentence in corpus] == [("I-PER", "B-PER"), ("O",)]
    assert read(write("y.conll", "a\nb\n"))[0].tags is None
