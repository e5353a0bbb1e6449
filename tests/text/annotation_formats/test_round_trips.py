"""What is written in the format of a tool reads back equal."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacross.errors import DataError
from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.formats import Format, WritableFormat
from metacross.text.reading import ReadOptions, read_corpus
from metacross.text.sentence import Corpus, Layout, Sentence, Span
from metacross.text.word_splitting import split_text
from metacross.text.writing import write_corpus

SUFFIXES = {
    "label-studio": ".json",
    "doccano": ".jsonl",
    "prodigy": ".jsonl",
    "brat": ".ann",
    "conllu": ".conllu",
    "argilla": ".json",
}
FORMATS = pytest.mark.parametrize("format_", SUFFIXES)


def laid_out(text: str, entities: dict[str, str], language: str | None = None) -> Sentence:
    """A sentence of a text in which each of some words is an entity."""
    layout = split_text(text, language)
    words = tuple(text[start:end] for start, end in layout.offsets)
    spans = tuple(
        Span(i, i + 1, entities[word]) for i, word in enumerate(words) if word in entities
    )
    return Sentence(words, spans, language, layout=layout)


HARD = {
    "emoji": laid_out("👩‍👩‍👧 and 💩 met Ana 🇪🇸", {"Ana": "PER"}, "en"),
    "combining marks": laid_out("Zoe\u0301 in Co\u0302te", {"Zoe\u0301": "PER"}),
    "right-to-left": laid_out("التقى محمد في القاهرة", {"محمد": "PER", "القاهرة": "LOC"}, "ar"),
    "CRLF": laid_out("Ana\r\nlives in\r\nBilbao", {"Ana": "PER", "Bilbao": "LOC"}),
    "blanks at the edges": laid_out("  Ana  sleeps \u00a0", {"Ana": "PER"}),
    "two sentences in one": laid_out("Ana slept. Tom ran.", {"Ana": "PER", "Tom": "PER"}, "en"),
    "words only": Sentence(("Ana", "'s", "U.S.-led", "tour"), (Span(2, 4, "MISC"),)),
    "no entities": Sentence(("Nothing", "here"), ()),
    "not annotated": Sentence(("Nobody", "looked"), None, "nl"),
    "backslashes and pipes": laid_out(r"a|b \s \n Ana", {"Ana": "PER"}),
    "words cut by hand": Sentence(
        ("Bil", "bao"), (Span(0, 1, "LOC"),), None, layout=Layout("Bilbao", ((0, 3), (3, 6)))
    ),
    "Chinese": laid_out("李明在柏林", {"柏": "LOC"}, "zh"),
}


LINE_ENDS = ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r")


@FORMATS
@pytest.mark.parametrize("language", ["de", "es", "zh", "en"])
def test_the_bundled_corpus_reads_back_equal(format_, language, tmp_path):
    corpus = Corpus(bundled_corpus(language, "dev" if language == "en" else "test").sentences[:60])
    path = tmp_path / f"x{SUFFIXES[format_]}"
    write_corpus(corpus, path, format=format_)
    assert read_corpus(path) == corpus


@FORMATS
@pytest.mark.parametrize("case", HARD)
def test_a_hard_sentence_reads_back_equal(format_, case, tmp_path):
    corpus = Corpus((HARD[case],))
    path = tmp_path / f"x{SUFFIXES[format_]}"
    write_corpus(corpus, path, format=format_)
    read = read_corpus(path)
    assert read == corpus
    assert not read.notes.omissions


@FORMATS
@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_words_with_characters_that_end_lines_elsewhere_read_back_equal(
    format_, line_end, tmp_path
):
    words = (f"Ana{line_end}Ruiz", "slept")
    corpus = Corpus((Sentence(words, (Span(0, 1, "PER"),)), Sentence(("Tom",), ())))
    path = tmp_path / f"x{SUFFIXES[format_]}"
    write_corpus(corpus, path, format=format_)
    assert read_corpus(path) == corpus


@FORMATS
def test_hard_sentences_read_back_equal_together(format_, tmp_path):
    corpus = Corpus(tuple(HARD.values()))
    path = tmp_path / f"x{SUFFIXES[format_]}"
    write_corpus(corpus, path, format=format_)
    assert read_corpus(path) == corpus


@FORMATS
def test_words_that_nobody_annotated_read_back_equal_after_plain_text(format_, tmp_path):
    plain = replace(laid_out("Ana vive", {}, "es"), spans=None)
    corpus = Corpus((plain, Sentence(("AT&T", "U.", "vende"), None, "es")))
    path = tmp_path / f"x{SUFFIXES[format_]}"
    write_corpus(corpus, path, format=format_)
    options = ReadOptions(format=Format.BRAT) if format_ == "brat" else None  # without .ann
    path = path.with_suffix(".txt") if format_ == "brat" else path
    assert read_corpus(path, options=options) == corpus


WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" "), min_size=1, max_size=6
)


@st.composite
def sentences(draw) -> Sentence:
    words = draw(st.lists(WORDS, min_size=1, max_size=8))
    spans, position = [], 0
    while position < len(words):
        end = draw(st.integers(position + 1, len(words)))
        if draw(st.booleans()):
            spans.append(Span(position, end, draw(st.sampled_from(["PER", "creative-work"]))))
        position = end
    language = draw(st.sampled_from([None, "es", "zh"]))
    sentence = Sentence(tuple(words), tuple(spans), language)
    if not draw(st.booleans()):
        return sentence
    gaps = [draw(st.sampled_from(["", " ", "  ", "\n", "\u3000"])) for _ in words]
    text, offsets = draw(st.sampled_from(["", " "])), []
    for word, gap in zip(words, gaps, strict=True):
        offsets.append((len(text), len(text) + len(word)))
        text += word + gap
    return Sentence(tuple(words), tuple(spans), language, layout=Layout(text, tuple(offsets)))


@FORMATS
@settings(max_examples=60, deadline=None)
@given(corpus=st.lists(sentences(), min_size=1, max_size=4))
def test_any_sentences_read_back_equal(format_, corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / f"x{SUFFIXES[format_]}"
    if any(not word.strip() for sentence in corpus for word in sentence.words):
        return  # a word of white space is no word to any tool
    write_corpus(corpus, path, format=format_)
    assert read_corpus(path).sentences == tuple(corpus)


@FORMATS
def test_the_tool_of_a_file_is_found_without_its_suffix(format_, tmp_path):
    if format_ == "brat":
        pytest.skip("a document of brat is found by its suffix, or as a folder")
    corpus = Corpus(bundled_corpus("es", "test").sentences[:5])
    path = tmp_path / "x.txt"
    write_corpus(corpus, path, format=format_)
    assert read_corpus(path) == corpus


def test_a_folder_of_brat_is_read_document_by_document(tmp_path):
    corpus = bundled_corpus("es", "test")
    (tmp_path / "deep").mkdir()
    write_corpus(corpus.sentences[:5], tmp_path / "a.ann")
    write_corpus(corpus.sentences[5:9], tmp_path / "deep" / "b.ann")
    read = read_corpus(tmp_path)
    assert read.sentences == corpus.sentences[:9]
    assert read.notes.documents == 2


def test_documents_of_brat_whose_names_differ_after_a_period_are_different_files(tmp_path):
    for name in ("es.dev", "es.test"):
        write_corpus([Sentence((name,), ())], tmp_path / name, format="brat")
    for name in ("es.dev", "es.test"):
        for file in (name, f"{name}.ann", f"{name}.txt"):
            corpus = read_corpus(tmp_path / file, options=ReadOptions(format=Format.BRAT))
            assert corpus[0].words == (name,)


@FORMATS
def test_a_text_that_begins_with_a_byte_order_mark_reads_back_equal(format_, tmp_path):
    corpus = Corpus((laid_out("\ufeffAna vive en Bilbao", {"Bilbao": "LOC"}),))
    path = tmp_path / f"x{SUFFIXES[format_]}"
    write_corpus(corpus, path, format=format_)
    assert read_corpus(path) == corpus


@pytest.mark.parametrize(
    ("last", "expected"), [(None, ()), ((Span(0, 1, "PER"),), None)], ids=["unlabeled", "mixed"]
)
def test_what_an_annotator_adds_to_a_document_of_brat_is_read(tmp_path, last, expected):
    words = ("Ana", "U.", "vive")
    sentences = [Sentence(words, spans, "es") for spans in (None, None, last)]
    path = tmp_path / "x.ann"
    write_corpus(sentences, path)
    before = path.read_text() if path.exists() else ""
    path.write_text(before + "T9\tPER 0 3\tAna\n")
    corpus = read_corpus(path)
    assert [sentence.words for sentence in corpus] == [words] * 3
    spans = [sentence.spans for sentence in corpus]
    assert spans == [(Span(0, 1, "PER"),), expected, last or ()]


def test_a_text_that_is_no_document_of_brat_is_not_replaced(tmp_path):
    pool = tmp_path / "pool.txt"
    pool.write_text("Ana slept.\nTom ran.\n")
    with pytest.raises(DataError, match=r"pool.ann: brat keeps its text in pool.txt"):
        write_corpus([Sentence(("Ana",), ())], tmp_path / "pool.ann")
    assert pool.read_text() == "Ana slept.\nTom ran.\n"
    for word in ("Ana", "Tom"):  # a document of brat can be written again
        write_corpus([Sentence((word,), ())], tmp_path / "other.ann")
    assert read_corpus(tmp_path / "other.ann")[0].words == ("Tom",)


def test_a_file_of_a_tool_may_be_longer_than_a_line_can_be(tmp_path):
    sentence = Sentence(("Ana",) * 50, (Span(0, 1, "PER"),))
    path = tmp_path / "x.json"
    write_corpus([sentence] * 20_000, path, format="label-studio")
    path.write_text(json.dumps(json.loads(path.read_text())))  # as the tool exports it: one line
    assert path.stat().st_size > 4_000_000
    assert len(read_corpus(path)) == 20_000


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(Exception, match="expected one of conll, jsonl, label-studio"):
        write_corpus([Sentence(("Ana",))], tmp_path / "x", format="word")


def test_every_writable_format_is_tried_here_or_elsewhere():
    assert {*map(str, WritableFormat)} == {*SUFFIXES, "conll", "jsonl"}


def test_proposals_are_read_only_if_asked_for(tmp_path):
    from metacross.text.annotation_formats.proposal import Proposal
    from metacross.text.writing import write_items

    sentence = HARD["emoji"]
    for format_ in (WritableFormat.LABEL_STUDIO, WritableFormat.ARGILLA, WritableFormat.PRODIGY):
        path = tmp_path / f"{format_}.json"
        write_items([Proposal(sentence, (0.9,), 0.5, "en")], path, format_)
        corpus = read_corpus(path)
        assert not corpus.labeled
        assert "--annotator model reads them" in corpus.notes.remarks[0]
        assert read_corpus(path, options=ReadOptions(annotator="model")).sentences == (sentence,)
