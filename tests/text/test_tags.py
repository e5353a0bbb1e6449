"""Tags become entities, and entities become tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacross.errors import DataError
from metacross.text.sentence import Span
from metacross.text.tags import (
    Scheme,
    SchemeDetector,
    TagSet,
    spans_from_tags,
    split_tag,
    tags_from_spans,
)

LABELS = ["PER", "LOC", "creative-work"]


@st.composite
def sentences_with_spans(draw, *, separated: bool = False):
    """Spans in order, adjacent or separated by a word, and the number of words."""
    spans, position = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = position + draw(st.integers(1 if separated else 0, 3))
        end = start + draw(st.integers(1, 4))
        spans.append(Span(start, end, draw(st.sampled_from(LABELS))))
        position = end
    return tuple(spans), position + draw(st.integers(0, 3))


@pytest.mark.parametrize("scheme", [s for s in Scheme if s is not Scheme.IO])
@given(sentences_with_spans())
def test_entities_come_back_from_their_tags(scheme, sentence):
    spans, n_words = sentence
    assert spans_from_tags(tags_from_spans(spans, n_words, scheme)) == spans


@given(sentences_with_spans(separated=True))
def test_entities_that_are_not_adjacent_come_back_from_io_tags(sentence):
    spans, n_words = sentence
    assert spans_from_tags(tags_from_spans(spans, n_words, Scheme.IO)) == spans


@given(sentences_with_spans())
def test_bilou_tags_are_bioes_tags_with_other_letters(sentence):
    bioes, bilou = (tags_from_spans(*sentence, scheme) for scheme in (Scheme.BIOES, Scheme.BILOU))
    bilou_prefix = {"E": "L", "S": "U"}
    assert bilou == tuple(bilou_prefix.get(tag[0], tag[0]) + tag[1:] for tag in bioes)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O O", []),
        ("I-PER I-PER", [(0, 2, "PER")]),
        ("O I-PER B-PER I-PER", [(1, 2, "PER"), (2, 4, "PER")]),
        ("B-PER I-LOC", [(0, 1, "PER"), (1, 2, "LOC")]),
        ("B-PER I-PER I-LOC", [(0, 2, "PER"), (2, 3, "LOC")]),
        ("S-PER I-PER", [(0, 1, "PER"), (1, 2, "PER")]),
        ("B-PER E-PER E-PER", [(0, 2, "PER"), (2, 3, "PER")]),
        ("E-PER O S-LOC", [(0, 1, "PER"), (2, 3, "LOC")]),
        ("B-LOC L-LOC U-LOC", [(0, 2, "LOC"), (2, 3, "LOC")]),
        ("B-creative-work I-creative-work", [(0, 2, "creative-work")]),
    ],
)
def test_chunks_are_read_as_conlleval_reads_them(tags, spans):
    assert spans_from_tags(tags.split()) == tuple(Span(*span) for span in spans)


@pytest.mark.parametrize("tag", ["B-", "B", "PER", "X-PER", "b-PER", "", "-PER", "o", "BI-PER"])
def test_an_invalid_tag_is_rejected(tag):
    with pytest.raises(DataError, match="expected"):
        split_tag(tag)


def detector_of(*sentences: str) -> SchemeDetector:
    detector = SchemeDetector()
    for sentence in sentences:
        tags = sentence.split()
        detector.add(tags, spans_from_tags(tags), "file", range(1, len(tags) + 1))
    return detector


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        (["B-PER I-PER O B-LOC"], Scheme.IOB2),
        (["I-PER I-PER O I-LOC", "I-LOC B-LOC"], Scheme.IOB1),
        (["I-PER I-PER O I-LOC"], Scheme.IO),
        (["B-PER E-PER O S-LOC"], Scheme.BIOES),
        (["B-PER L-PER O U-LOC"], Scheme.BILOU),
        (["O O O"], Scheme.IOB2),
    ],
)
def test_the_scheme_is_detected_and_nothing_needs_repair(sentences, scheme):
    detector = detector_of(*sentences)
    assert (detector.scheme, detector.repairs) == (scheme, 0)


def test_an_inside_tag_that_continues_nothing_is_one_repair_with_file_and_line():
    detector = detector_of("B-PER I-PER O B-LOC", "O I-ORG B-LOC O")
    assert (detector.scheme, detector.repairs) == (Scheme.IOB2, 1)
    assert [str(repair) for repair in detector.repair_examples] == [
        "file:2: I-ORG is not allowed here, read as B-ORG"
    ]


@given(sentences_with_spans(), sentences_with_spans())
def test_tags_that_a_scheme_wrote_need_no_repair(first, second):
    for scheme in Scheme:
        detector = SchemeDetector()
        for spans, n_words in (first, second):
            tags = tags_from_spans(spans, n_words, scheme)
            detector.add(tags, spans_from_tags(tags), "file", range(n_words))
        assert detector.repairs == 0


def test_two_schemes_in_one_corpus_are_rejected_with_file_and_line():
    with pytest.raises(DataError, match=r"^file:3: expected one tag scheme"):
        detector_of("B-PER E-PER", "O O U-LOC")


def test_outside_is_number_zero():
    tag_set = TagSet(("LOC", "PER"))
    assert tag_set.tags[0] == "O"
    assert len(tag_set) == len(tag_set.tags)


@given(sentences_with_spans())
def test_entities_come_back_from_tag_numbers(sentence):
    spans, n_words = sentence
    tag_set = TagSet(tuple(LABELS))
    assert tag_set.spans(tag_set.ids(spans, n_words)) == spans


def test_an_entity_with_an_unknown_label_has_no_number():
    with pytest.raises(DataError, match="labels PER, found 'B-LOC'"):
        TagSet(("PER",)).ids((Span(0, 1, "LOC"),), 1)
