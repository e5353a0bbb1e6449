"""Resources of baselines are read: lexicons, parallel text, vectors, names, parts of speech."""

import gzip

import numpy as np
import pytest

from metacross.errors import DataError
from metacross.text.gazetteer import read_gazetteer
from metacross.text.lexicon import Lexicon, read_lexicon
from metacross.text.parallel_text import ParallelLanguages, read_alignments, read_parallel
from metacross.text.parts_of_speech import PARTS_OF_SPEECH, read_parts_of_speech
from metacross.text.raw_text import read_raw_text
from metacross.text.resource_files import file_digest
from metacross.text.sentence import Sentence, Span
from metacross.text.word_clusters import WordClusters, read_clusters
from metacross.text.word_vectors import read_vectors

LEXICON = "bank\tbanco\t3\nbank\torilla\t1\nNew York\tNueva York\n"


def row(number, word, pos):
    """A line of CoNLL-U."""
    return "\t".join([str(number), word, "_", pos, *"_" * 6]) + "\n"


def test_a_lexicon_gives_translations_with_their_probabilities(write):
    lexicon = read_lexicon(write("en-es.tsv", LEXICON))
    assert [(t.words, t.probability) for t in lexicon.translations("bank")] == [
        (("banco",), 0.75),
        (("orilla",), 0.25),
    ]
    assert lexicon.translations("New York")[0].words == ("Nueva", "York")
    assert lexicon.longest == 2


def test_a_compressed_file_reads_like_a_plain_one(write):
    plain = read_lexicon(write("a.tsv", LEXICON))
    compressed = read_lexicon(write("a.tsv.gz", gzip.compress(LEXICON.encode(), mtime=0)))
    assert compressed.entries == plain.entries


def test_coverage_counts_words_with_letters_outside_entities():
    lexicon = Lexicon.of([("the", "el", 1), ("house", "casa", 1)])
    sentence = Sentence(("The", "house", "of", "Ana", ",", "9"), (Span(3, 4, "PER"),))
    assert lexicon.coverage([sentence]) == pytest.approx(2 / 3)


def test_gaps_are_filled_and_known_phrases_stay():
    first, second = Lexicon.of([("a", "x", 1)]), Lexicon.of([("a", "y", 1), ("b", "z", 1)])
    filled = first.with_gaps_filled(second)
    assert [filled.translations(word)[0].words for word in "ab"] == [("x",), ("z",)]


def test_parallel_text_is_split_into_words_of_each_language(write):
    path = write("p.tsv", "The U.N. met.\tL'ONU s'est réunie.\tnews\n")
    (pair,) = read_parallel(path, ParallelLanguages("en", "fr"))
    assert pair.source.words == ("The", "U.N.", "met", ".")
    assert pair.target.words == ("L'", "ONU", "s'", "est", "réunie", ".")


def test_parallel_text_can_be_two_files(write):
    files = write("p.en", "One .\n\nTwo .\n"), write("p.es", "Uno .\nx\nDos .\n")
    pairs = read_parallel(",".join(map(str, files)))
    assert [(pair.source.words[0], pair.target.words[0]) for pair in pairs] == [
        ("One", "Uno"),
        ("Two", "Dos"),
    ]


def test_links_count_the_words_between_blanks(write):
    path = write("p.tsv", "don't go\tno vayas\n\nyes\tsí\n")
    pairs = read_parallel(path, pretokenized=True)
    alignments = read_alignments(write("p.align", "0-0 1-1\n\n0-0\n"), pairs)
    assert alignments == [frozenset({(0, 0), (1, 1)}), frozenset({(0, 0)})]


@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_vectors_are_read_with_and_without_a_header(write, header):
    vectors = read_vectors(write("v.vec", f"{header}casa 1 2 3\nel 0 0.5 -1e-2\n"))
    assert vectors.words == ("casa", "el")
    np.testing.assert_allclose(vectors.matrix, [[1, 2, 3], [0, 0.5, -0.01]])
    assert vectors.position("Casa") == 0
    assert vectors.position("perro") is None


def test_clusters_are_read_and_written_back(write, tmp_path):
    clusters = read_clusters(write("c.tsv", "01\tbank\t9\n01\triver\t2\n10\tAna\t1\n"))
    assert clusters.cluster("Bank") == "01"
    assert clusters.cluster("ana") is None
    clusters.write(tmp_path / "again.tsv")
    assert WordClusters.read(tmp_path / "again.tsv") == clusters
    single = WordClusters({"bank": "0", "river": "1"})  # would be refused if somebody gave it
    single.write(tmp_path / "single.tsv")
    assert WordClusters.read(tmp_path / "single.tsv") == single


def test_names_are_not_left_out_if_one_language_is_not_known(write):
    path = write("names.tsv", "London\tLOC\ten\nMadrid\tLOC\tes\nBerlin\tLOC\tde\n")
    assert len(read_gazetteer(path, "en", "es").types_of) == 2
    assert len(read_gazetteer(path, None, "es").types_of) == 3


def test_names_are_found_with_overlaps_and_as_they_are_spelled(write, tmp_path):
    gazetteer = read_gazetteer(
        write("g.tsv", "Río de la Plata\tLOC\tes\nPlata\tORG\nRhein\tLOC\tde\nUk\tLOC\n"), "es"
    )
    words = ("El", "Río", "de", "la", "Plata", "y", "el", "Rhein", "rhein", "Uk")
    assert gazetteer.matches(words) == [Span(1, 5, "LOC"), Span(4, 5, "ORG")]
    gazetteer.write(tmp_path / "again.tsv")
    assert read_gazetteer(tmp_path / "again.tsv") == gazetteer


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", "Ana habla. Luis no.\ttatoeba\nAna habla.\tother\n"),
        ("t.txt", "Ana habla. Luis no.\n"),
        ("t.conll", "Ana B-PER\nhabla O\n. O\n\nLuis B-PER\nno O\n. O\n"),
        ("t.txt.gz", gzip.compress(b"Ana habla. Luis no.\n", mtime=0)),
    ],
)
def test_raw_text_of_all_formats_gives_unlabeled_sentences_once(write, name, content):
    corpus = read_raw_text(write(name, content), language="es")
    assert [s.words for s in corpus] == [("Ana", "habla", "."), ("Luis", "no", ".")]
    assert all(sentence.spans is None and sentence.language == "es" for sentence in corpus)


POS = (
    "# text = Ana habla del mar.\n"
    "1\tAna\tAna\tPROPN\t_\t_\t0\troot\t_\t_\n"
    "2\thabla\thablar\tVERB\t_\t_\t1\tdep\t_\t_\n"
    "3-4\tdel\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\tde\tde\tADP\t_\t_\t1\tdep\t_\t_\n"
    "4\tel\tel\tDET\t_\t_\t1\tdep\t_\t_\n"
    "4.1\tgran\t_\tADJ\t_\t_\t_\t_\t_\t_\n"
    "5\tmar\tmar\tNOUN\t_\t_\t1\tdep\t_\t_\n"
    "\n\n"
    "1\tSí\tsí\tINTJ\t_\t_\t0\troot\t_\t_"
)


@pytest.mark.parametrize("name", ["es.conllu", "es.conllu.gz"])
def test_parts_of_speech_are_read_word_by_word(write, name):
    content = gzip.compress(POS.encode(), mtime=0) if name.endswith("gz") else POS
    first, second = read_parts_of_speech(write(name, content), language="es")
    assert first.sentence == Sentence(("Ana", "habla", "de", "el", "mar"), language="es")
    tags = [PARTS_OF_SPEECH[i] for i in first.pos_ids]
    assert tags == ["PROPN", "VERB", "ADP", "DET", "NOUN"]
    assert second.sentence.words == ("Sí",)


def test_the_digest_of_a_file_follows_its_content(write):
    first, same, other = write("a", "x"), write("b", "x"), write("c", "y")
    assert file_digest(first) == file_digest(same) != file_digest(other)


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_lexicon, "bank banco\n", ":1: expected source word, TAB, target word"),
        (read_lexicon, "a\tb\nbank\tbanco\tbest\n", ":2: expected a number above 0, found 'best'"),
        (read_lexicon, "a\tb\t-1\n", ":1: expected a number above 0"),
        (read_lexicon, "\n", "expected entries of a lexicon, found none"),
        (read_parallel, "only one side\n", ":1: expected source sentence, TAB, target sentence"),
        (read_vectors, "a 1 2\nb 1 2 3\n", ":2: expected a word and 2 numbers"),
        (read_vectors, "2 3\na 1 2\n", ":2: expected a word and 3 numbers"),
        (read_vectors, "a 1 x\n", ":1: expected numbers after 'a'"),
        (read_vectors, "a 1 nan\n", ":1: expected finite numbers"),
        (read_clusters, "", "expected words with their clusters, found none"),
        (read_clusters, "bank\t01\nriver\t10\n", "the first column is the cluster"),
        (read_gazetteer, "Paris\n", ":1: expected name, TAB, type"),
        (read_raw_text, "\n\n", "expected sentences, found none"),
        (read_parts_of_speech, "", "expected sentences with parts of speech, found none"),
        (read_parts_of_speech, "Ana PROPN\n", ":1: expected 10 columns of CoNLL-U with tabs"),
        (read_parts_of_speech, row(1, "Ana", "NNP"), ":1: expected a part of speech of ADJ, "),
        (read_parts_of_speech, row(1, "Ana", "_"), "in column 4, found '_'"),
        (read_parts_of_speech, row(1, "", "X"), ":1: expected a word in column 2, found none"),
        (read_parts_of_speech, row(2, "Ana", "X"), ":1: expected word number 1"),
        (
            read_parts_of_speech,
            row(1, "Ana", "X") + row(1, "Eva", "X"),
            ":2: expected word number 2, or an empty line before the next sentence, found '1'",
        ),
    ],
)
def test_a_malformed_resource_is_refused_with_its_place(write, read, content, message):
    path = write("resource.tsv", content)
    with pytest.raises(DataError) as problem:
        read(path)
    assert str(problem.value).startswith(str(path))
    assert message in str(problem.value)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0-0\n", "expected a line of links for each of 2 lines of parallel text, found 1"),
        ("0-0\n0-0\n0-0\n", "found 3"),
        ("0-0\n0-7\n", ":2: expected links between 1 and 1 words"),
        ("0-0\n0:0\n", ":2: expected links such as 0-0 1-2, found '0:0'"),
    ],
)
def test_an_alignment_that_does_not_fit_is_refused(write, lines, message):
    pairs = read_parallel(write("p.tsv", "a\tb\nc\td\n"), pretokenized=True)
    with pytest.raises(DataError) as problem:
        read_alignments(write("p.align", lines), pairs)
    assert message in str(problem.value)


def test_parallel_files_of_different_lengths_are_refused(write):
    files = write("p.en", "a\nb\n"), write("p.es", "a\n")
    with pytest.raises(DataError, match=r"expected as many lines as .*p.es, which has 1, found 2"):
        read_parallel(",".join(map(str, files)))


def test_a_file_that_is_not_gzip_is_refused(write):
    with pytest.raises(DataError, match="cannot be decompressed as gzip"):
        read_lexicon(write("a.tsv.gz", "a\tb\n"))
