"""Sentences and corpora check their parts and can be relabeled."""

from dataclasses import replace

import pytest

from metacross.errors import DataError
from metacross.text.sentence import Corpus, Layout, Origin, Sentence, Span

ANA = Sentence(("Ana", "Ruiz", "left"), (Span(0, 2, "PER"),), tags=("I-PER", "I-PER", "O"))


@pytest.mark.parametrize(
    "spans",
    [
        (Span(0, 2, "PER"), Span(1, 3, "LOC")),
        (Span(2, 3, "PER"), Span(0, 1, "LOC")),
        (Span(1, 1, "PER"),),
        (Span(2, 4, "PER"),),
        (Span(-1, 1, "PER"),),
    ],
    ids=["overlap", "order", "empty", "too long", "negative"],
)
def test_spans_that_do_not_fit_the_sentence_are_rejected(spans):
    with pytest.raises(DataError, match="expected entities in order, without overlap and within 3"):
        Sentence(("a", "b", "c"), spans)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"words": ()}, "at least one word"),
        ({"words": ("a", "b"), "tags": ("O",)}, "expected 2 tags, one per word, found 1"),
        ({"words": ("a", "b"), "layout": Layout("a", ((0, 1),))}, "offsets of 2 words, found 1"),
    ],
)
def test_parts_of_different_lengths_are_rejected(fields, message):
    with pytest.raises(DataError, match=message):
        Sentence(**fields)


def test_sentences_are_compared_without_origin_and_tags():
    assert replace(ANA, origin=Origin("x.conll", 7), tags=None) == ANA
    assert replace(ANA, language="en") != ANA


def test_other_spans_drop_the_tags_as_read():
    assert ANA.with_spans(()).spans == ()
    assert ANA.with_spans(()).tags is None


def test_relabeling_drops_the_tags_as_read_only_where_an_entity_changes():
    assert ANA.relabeled({"PER": "person"}).tags is None
    assert ANA.relabeled({"PER": None}).tags is None
    assert ANA.relabeled({"LOC": None}).tags == ANA.tags


def test_an_unlabeled_sentence_stays_unlabeled_when_relabeled():
    assert Corpus((Sentence(("a",)),)).relabeled({"PER": None})[0].spans is None


def test_a_sentence_without_layout_is_laid_out_with_spaces():
    layout = ANA.laid_out()
    assert layout.text == "Ana Ruiz left"
    assert [layout.text[start:end] for start, end in layout.offsets] == ["Ana", "Ruiz", "left"]
