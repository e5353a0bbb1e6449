"""Faults that are put into a clean corpus are all found, and a clean corpus has none."""

from dataclasses import replace

import pytest

from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.corpus_findings import Level, find_problems
from metacross.text.sentence import Corpus, Omission, Origin, Sentence, Span

CLEAN = tuple(
    Sentence(
        ("Ana", "Ruiz", "vive", f"desde{n}", "en", "Lima", "."),
        (Span(0, 2, "PER"), Span(5, 6, "LOC")),
        "es",
        Origin("clean.conll", 10 * n + 1),
    )
    for n in range(30)
)


def with_fault(fault: Sentence, position: int = 7) -> Corpus:
    fault = replace(fault, origin=Origin("clean.conll", 999))
    return Corpus((*CLEAN[:position], fault, *CLEAN[position:]), source="clean.conll")


FAULTS = {
    "other type": (
        Sentence(("Lima", "sube", "mucho"), (Span(0, 1, "ORG"),)),
        Level.WARNING,
        "'Lima' is ORG here and LOC 30 times",
    ),
    "not labeled": (
        Sentence(("Hoy", "Ana", "Ruiz", "duerme"), ()),
        Level.WARNING,
        "'Ana Ruiz' is not labeled here and PER 30 times",
    ),
    "edge": (
        Sentence(("Vino", "Eva", "Sol", ","), (Span(1, 4, "PER"),)),
        Level.WARNING,
        "PER 'Eva Sol ,' ends with punctuation",
    ),
    "long entity": (
        Sentence(tuple(f"w{n}x" for n in range(12)), (Span(0, 11, "PER"),)),
        Level.WARNING,
        "has 11 words",
    ),
    "control character": (
        Sentence(("Hola", "mun\x07do"), ()),
        Level.ERROR,
        "the word 'mun\\x07do' has the control character U+0007",
    ),
    "other script": (
        Sentence(("Ана", "живёт", "в", "Лиме"), ()),
        Level.WARNING,
        "Cyrillic script in a corpus in Latin script",
    ),
    "contradiction": (
        CLEAN[3].with_spans((Span(0, 1, "PER"), Span(5, 6, "LOC"))),
        Level.WARNING,
        "the same words as clean.conll:31, with other labels",
    ),
    "rare type": (
        Sentence(("Mayo", "llega"), (Span(0, 1, "DATE"),)),
        Level.NOTE,
        "DATE is there 1 times",
    ),
}


def test_a_clean_corpus_has_no_findings():
    assert find_problems([Corpus(CLEAN)]) == []


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_found_with_its_place(kind):
    sentence, level, message = FAULTS[kind]
    found = [f for f in find_problems([with_fault(sentence)]) if f.kind == kind]
    assert [finding.level for finding in found] == [level]
    assert message in found[0].message
    assert found[0].place == ("clean.conll" if kind == "rare type" else "clean.conll:999")


def test_punctuation_and_blanks_at_edges_are_found():
    for words, span, says in [
        ((",", "Eva", "vino"), (0, 2), "starts with punctuation"),
        (("vino", "-"), (1, 2), "is punctuation"),
        (("vino", "Eva "), (1, 2), "has a blank at its edge"),
    ]:
        corpus = with_fault(Sentence(words, (Span(*span, "PER"),)))
        assert any(says in f.message for f in find_problems([corpus]) if f.kind == "edge")
    quoted = with_fault(Sentence(("leyó", '"', "Rayuela", '"'), (Span(1, 4, "PER"),)))
    assert not [f for f in find_problems([quoted]) if f.kind == "edge"]


def test_a_name_at_the_end_of_a_sentence_is_found_once():
    longer = Sentence(("Lima", "Norte", "Sur", "crece"), (Span(0, 3, "ORG"),))
    corpus = with_fault(Sentence(("Amo", "la", "vieja", "Lima"), ()))
    findings = find_problems([Corpus((*corpus.sentences, longer))])
    found = [finding for finding in findings if finding.kind == "not labeled"]
    assert [finding.message for finding in found] == ["'Lima' is not labeled here and LOC 30 times"]


def test_a_name_without_a_usual_type_is_a_note():
    sentences = [
        Sentence(("Washington", f"n{n}"), (Span(0, 1, label),))
        for n, label in enumerate(["LOC"] * 4 + ["PER"] * 3)
    ]
    found = [f for f in find_problems([Corpus((*CLEAN, *sentences))]) if "Wash" in f.message]
    assert [(f.level, f.kind) for f in found] == [(Level.NOTE, "several types")]
    assert "'Washington' is LOC 4, PER 3 times" in found[0].message


def test_copies_and_near_copies_between_files_are_found():
    first = Corpus(CLEAN, source="a")
    copy = CLEAN[2]
    near = replace(CLEAN[4], words=("ANA", "Ruiz", "vive", "desde4", "en", "Lima", "!"))
    other = Sentence(("Algo", "del", "todo", "distinto"), ())
    found = find_problems([first, Corpus((copy, near, other), source="b")])
    kinds = [f.kind for f in found if f.kind.endswith("two files")]
    assert sorted(kinds) == ["copy in two files", "near-copy in two files"]


def test_sentences_that_differ_in_words_are_no_copies():
    pair = [Corpus((Sentence(("Ana", "duerme", word), ()),)) for word in ("mucho", "poco")]
    assert not [f for f in find_problems(pair) if "cop" in f.kind]


def test_what_a_reader_left_out_is_a_warning():
    corpus = Corpus(CLEAN)
    notes = replace(corpus.notes, omissions=(Omission("x.ann:3", "in two pieces"),))
    (finding,) = find_problems([replace(corpus, notes=notes)])
    assert str(finding) == "warning: x.ann:3: in two pieces"


def test_errors_come_first():
    faults = (FAULTS["rare type"][0], FAULTS["control character"][0])
    findings = find_problems([Corpus((*CLEAN, *faults))])
    assert findings[0].level is Level.ERROR
    assert findings[-1].level is Level.NOTE


def test_the_bundled_corpora_have_no_warnings():
    corpora = [bundled_corpus("en", "train"), bundled_corpus("en", "dev")]
    corpora += [bundled_corpus(language, "test") for language in ("es", "de", "nl", "fr", "zh")]
    assert [f for f in find_problems(corpora) if f.level is not Level.NOTE] == []


def test_an_unlabeled_corpus_is_looked_at_too():
    corpus = Corpus((Sentence(("a\x07",)), Sentence(("b",))))
    assert [finding.kind for finding in find_problems([corpus])] == ["control character"]
