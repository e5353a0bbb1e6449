"""Sentences that are read from a file when they are needed."""

import pickle
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacross.errors import DataError
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Layout, Sentence, Span
from metacross.text.source_corpora import read_sources
from metacross.text.stored_sentences import StoredSentences, count_lines, stored
from metacross.text.writing import write_corpus

SENTENCES = (
    Sentence(("Ana", "Ruiz", "spoke"), (Span(0, 2, "PER"),), "es"),
    Sentence(("東京", "\u2028", "x\u00a0y"), (Span(0, 1, "LOC"), Span(1, 2, "LOC"))),
    Sentence(("no", "labels"), None, "en"),
    Sentence(("Oslo", "."), (), layout=Layout("Oslo.", ((0, 4), (4, 5)))),
)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


def test_they_equal_those_in_memory_in_every_way_of_reading(tmp_path):
    kept = stored(SENTENCES, tmp_path)
    assert len(kept) == 4
    assert tuple(kept) == SENTENCES
    assert [kept[i] for i in range(-4, 4)] == [*SENTENCES, *SENTENCES]
    assert kept[1:3] == SENTENCES[1:3]
    assert kept[::-1] == SENTENCES[::-1]
    assert kept == SENTENCES
    assert kept == SENTENCES
    assert kept != SENTENCES[:-1]
    assert hash(Corpus(kept)) == hash(Corpus(SENTENCES))
    with pytest.raises(IndexError):
        kept[4]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=5))
def test_any_words_come_back(tmp_path_factory, words_of_sentences):
    sentences = tuple(Sentence(tuple(words), ()) for words in words_of_sentences)
    assert tuple(stored(sentences, tmp_path_factory.mktemp("stored"))) == sentences


def test_a_corpus_of_them_counts_as_one_in_memory(tmp_path):
    kept, in_memory = Corpus(stored(SENTENCES, tmp_path)), Corpus(SENTENCES)
    reopened = Corpus(StoredSentences(kept.sentences.path))
    for corpus in (kept, reopened):
        assert corpus == in_memory
        for name in ("n_words", "n_entities", "entities_by_label", "labeled", "languages"):
            assert getattr(corpus, name) == getattr(in_memory, name), name


def test_the_file_is_what_write_corpus_writes(tmp_path):
    kept = stored(SENTENCES, tmp_path)
    write_corpus(SENTENCES, tmp_path / "corpus.jsonl")
    assert kept.path.read_bytes() == (tmp_path / "corpus.jsonl").read_bytes()
    assert count_lines(kept.path) == 4
    assert [path.name for path in tmp_path.glob("*.part")] == []
    read = read_corpus(kept.path)
    assert [(s.origin, s.tags) for s in kept] == [(s.origin, s.tags) for s in read]


def test_a_copy_in_another_process_reads_the_same_file(tmp_path):
    kept = stored(SENTENCES, tmp_path)
    assert pickle.loads(pickle.dumps(kept)) == SENTENCES


def test_a_broken_line_is_an_error_with_its_place(tmp_path):
    path = tmp_path / "source.jsonl"
    path.write_bytes(b'{"tokens": ["a"], "tags": ["O"]}\n{"tokens": \n\xff\n{"tokens": []}')
    sentences = StoredSentences(path)
    assert sentences[0].words == ("a",)
    for position, message in enumerate(("JSON object", "utf-8", "at least one word"), start=1):
        with pytest.raises(DataError, match=rf"source\.jsonl:{position + 1}: expected .*{message}"):
            sentences[position]


def test_a_source_above_the_limit_is_stored_and_reads_the_same(write, tmp_path):
    english = write("en.conll", "Ana B-PER\nslept O\n\nOslo B-LOC\n\nyes O\n")
    german = write("de.conll", "Bonn B-LOC\n")
    files = {"en": english, "de": german}
    in_memory = read_sources(files).relabeled({"LOC": "PLACE", "PER": None})
    for limit, kind in ((3, StoredSentences), (4, tuple)):
        corpus = read_sources(
            files,
            new_labels={"LOC": "PLACE", "PER": None},
            max_in_memory=limit,
            folder=tmp_path / "stored",
        )
        assert type(corpus.sentences) is kind
        assert corpus == in_memory
        assert corpus.name == in_memory.name
    assert in_memory.entities_by_label == {"PLACE": 2}


MEMORY = """
import sys
from pathlib import Path
from metacross.text.sentence import Sentence, Span
from metacross.text.stored_sentences import stored

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

def sentences():
    for number in range(30_000):
        words = tuple(f"w{number}-{i}" for i in range(20))
        yield Sentence(words, (Span(0, 2, "PER"),))

before = peak()
kept = stored(sentences(), Path(sys.argv[2])) if sys.argv[1] == "stored" else tuple(sentences())
assert sum(len(sentence.words) for sentence in kept) == 600_000
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_they_do_not_fill_the_memory(tmp_path):
    grown = {
        kind: float(
            subprocess.run(
                [sys.executable, "-c", MEMORY, kind, str(tmp_path)],
                capture_output=True,
                check=True,
                text=True,
            ).stdout
        )
        for kind in ("stored", "in memory")
    }
    assert grown["in memory"] > 40
    assert grown["stored"] < 0.5 * grown["in memory"]
