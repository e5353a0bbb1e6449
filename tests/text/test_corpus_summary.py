"""Statistics of a corpus, the overlap of two, and the sizes of known data sets."""

import pytest

from metacross.text.corpus_summary import overlaps, summarize
from metacross.text.known_datasets import known_dataset
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence, Span

PARIS = Sentence(("Paris", "!"), (Span(0, 1, "LOC"),))
ANA = Sentence(("Ana",), (Span(0, 1, "PER"),))
NOTHING = Sentence(("Nothing", "here", "."), ())


def test_a_summary_counts_duplicates_and_sentences_without_entities():
    summary = summarize(Corpus((PARIS, NOTHING, PARIS)))
    assert (summary.duplicates, summary.without_entities) == (1, 1)
    assert (summary.longest, summary.longest_place) == (3, "sentence 'Nothing here .'")


def test_the_problems_name_the_first_repairs_and_count_the_others(write):
    well_formed = "a B-PER\nb I-PER\n\n" * 100
    path = write("x.conll", well_formed + "c I-LOC\n\n" * 25)
    problems = summarize(read_corpus(path)).problems
    assert problems[0] == f"{path}:301: I-LOC is not allowed here, read as B-LOC"
    assert problems[-1] == f"{path}: 5 more tags were repaired"
    assert len(problems) == 21


def test_every_two_corpora_are_compared():
    first, second, third = Corpus((PARIS,)), Corpus((PARIS, ANA)), Corpus((NOTHING,))
    found = overlaps([first, second, third])
    assert [overlap.shared_sentences for overlap in found] == [1, 0, 0]
    assert (found[0].only_in_first, found[0].only_in_second) == ((), ("PER",))


def test_labels_of_an_unlabeled_corpus_are_not_compared():
    (overlap,) = overlaps([Corpus((PARIS,)), Corpus((Sentence(("Paris", "!")),))])
    assert overlap.shared_sentences == 1
    assert (overlap.only_in_first, overlap.only_in_second) == ((), ())


@pytest.mark.parametrize(
    ("name", "sentences", "entities"),
    [
        ("eng.train", 14_987, 23_499),
        ("conll2003/de/test.txt", 3_160, 3_673),
        ("esp.testa", 1_915, 4_351),
        ("CoNLL-2002/nl/dev.txt", 2_895, 2_616),
        ("data/europeana/fr/train.txt", 9_527, 7_899),
        ("msra/test.txt", 4_361, 5_478),
    ],
)
def test_a_known_data_set_is_recognized_by_its_name(name, sentences, entities):
    published = known_dataset(Corpus((Sentence(("x",), ()),), source=f"/home/me/{name}"))
    assert (published.sentences, published.entities) == (sentences, entities)


@pytest.mark.parametrize("name", ["train.txt", "en/dev.conll", "wikiann/es/test.txt"])
def test_another_file_is_not_a_known_data_set(name):
    assert known_dataset(Corpus((Sentence(("x",), ()),), source=name)) is None
