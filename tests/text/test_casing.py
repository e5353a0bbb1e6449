"""Source text gets the capitals of the target's spelling."""

import pytest

from metacross.text.casing import (
    NOUNS,
    CapitalDraw,
    CapitalShares,
    is_capitalized,
    matching_draw,
    with_capitals,
)
from metacross.text.sentence import Corpus, Sentence, Span

SENTENCE = Sentence(
    ("Ana", "saw", "the", "old", "house", "near", "ajax", "USA", "today"), (Span(6, 7, "ORG"),)
)
CORPUS = Corpus((SENTENCE,) * 400, source="en")


def test_only_longer_lower_case_words_outside_entities_get_capitals():
    changed = with_capitals(CORPUS, CapitalDraw(1.0, 1.0), seed=0)[0]
    assert changed.words == ("Ana", "saw", "the", "old", "House", "Near", "ajax", "USA", "Today")
    assert changed.spans == SENTENCE.spans


def test_about_half_of_the_sentences_get_about_half_of_the_capitals():
    changed = with_capitals(CORPUS, NOUNS, seed=1)
    n_sentences = sum(sentence != SENTENCE for sentence in changed)
    n_words = sum(is_capitalized(sentence.words[4]) for sentence in changed)
    assert 0.35 < n_sentences / 400 < 0.5  # a sentence of three words can be left as it is
    assert 0.2 < n_words / 400 < 0.3


def test_the_draw_depends_on_the_seed_only():
    assert with_capitals(CORPUS, NOUNS, seed=1) == with_capitals(CORPUS, NOUNS, seed=1)
    assert with_capitals(CORPUS, NOUNS, seed=1) != with_capitals(CORPUS, NOUNS, seed=2)


def outside_entities(corpus):
    return [Sentence((*s.words[:6], *s.words[7:])) for s in corpus]


def test_after_the_matching_draw_capitals_are_as_frequent_as_in_the_raw_text():
    raw = [Sentence(("das", "alte", "Haus", "ist", "schön"))] * 10
    draw = matching_draw(CORPUS, raw)
    changed = with_capitals(CORPUS, draw, seed=3)
    assert CapitalShares.of(outside_entities(changed)).overall == pytest.approx(0.25, abs=0.03)


def test_nothing_changes_for_a_target_with_fewer_capitals():
    raw = [Sentence(("la", "casa", "vieja"))] * 10
    assert with_capitals(CORPUS, matching_draw(CORPUS, raw), seed=0) == CORPUS
