"""Words of parallel text are aligned, and entities projected through the links."""

import random

import numpy as np
import pytest
import torch

import tiny
from metacross.baseline_settings import ProjectionSettings
from metacross.baselines.encoder_alignment import EncoderAligner, mutual_links
from metacross.baselines.projection import Projected, filtered, project, projected_sentence
from metacross.baselines.word_alignment import align, learned_lexicon
from metacross.errors import DataError
from metacross.settings import EncoderSettings
from metacross.text.lexicon import Lexicon
from metacross.text.parallel_text import SentencePair
from metacross.text.sentence import Sentence, Span

WORDS = ["house", "dog", "tree", "river", "city", "bread", "night", "door", "king", "road"]


def toy_pair(rng, order):
    """A made-up translation: each word has one translation; ``order`` rearranges them."""
    source = rng.sample(WORDS, 5)
    target = [f"{source[i]}o" for i in order]
    links = frozenset((i, j) for j, i in enumerate(order))
    return SentencePair(Sentence(tuple(source)), Sentence(tuple(target))), links


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (1, 0, 2, 4, 3), (2, 1, 0, 3, 4)])
def test_the_links_of_a_toy_language_are_found(order):
    rng = random.Random(0)
    pairs, links = zip(*(toy_pair(rng, order) for _ in range(100)), strict=True)
    assert align(pairs) == list(links)


def test_of_equal_words_the_nearest_to_the_diagonal_is_linked():
    texts = [("the dog the house", "el perro la casa"), ("the", "el"), ("the", "la")] * 5
    pairs = [SentencePair(Sentence(tuple(a.split())), Sentence(tuple(b.split()))) for a, b in texts]
    assert {(0, 0), (2, 2)} <= align(pairs)[0]


def test_a_lexicon_helps_to_align_a_few_pairs():
    rng = random.Random(1)
    pairs, links = zip(*(toy_pair(rng, (1, 0, 2, 4, 3)) for _ in range(3)), strict=True)
    lexicon = Lexicon.of([(word, f"{word}o", 1.0) for word in WORDS])
    assert align(pairs) != list(links)
    assert align(pairs, lexicon=lexicon) == list(links)


def test_a_lexicon_is_learned_from_links():
    pairs = [SentencePair(Sentence(("The", "dog")), Sentence(("El", "perro")))] * 4
    pairs += [SentencePair(Sentence(("the",)), Sentence(("la",)))]
    links = [frozenset({(0, 0), (1, 1)})] * 4 + [frozenset({(0, 0)})]
    lexicon = learned_lexicon(pairs, links, min_count=2)
    assert [t.words for t in lexicon.translations("the")] == [("el",)]
    assert lexicon.translations("dog")[0].words == ("perro",)


def test_words_that_choose_each_other_are_linked():
    source = torch.eye(3)
    target = torch.stack([source[2], source[0], torch.tensor([0.5, 0.5, 0.5])])
    assert mutual_links(source, target) >= {(2, 0), (0, 1)}
    assert not any(j == 2 and i in (0, 2) for i, j in mutual_links(source, target))


def test_an_encoder_aligns_equal_sentences_word_by_word(encoders):
    settings = EncoderSettings(name=encoders["bert"])
    sentences = tiny.corpus(4).sentences
    pairs = [SentencePair(sentence, sentence) for sentence in sentences]
    for sentence, links in zip(sentences, EncoderAligner(settings).align(pairs), strict=True):
        assert {(i, i) for i in range(len(sentence.words))} <= links


SOURCE = Sentence(
    ("The", "Bank", "of", "Spain", "met", "Ana"), (Span(0, 4, "ORG"), Span(5, 6, "PER"))
)
TARGET = Sentence(("El", "Banco", "de", "España", "recibió", "a", "Ana"))
GOOD = frozenset({(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 6)})


def projected(links, *, ignored=(), **settings):
    return projected_sentence(
        SOURCE, TARGET, links, ProjectionSettings(**settings), ignored=ignored
    )


def test_an_entity_covers_the_words_that_it_is_linked_to():
    result = projected(GOOD)
    assert result.sentence.spans == (Span(0, 4, "ORG"), Span(6, 7, "PER"))
    assert result.n_lost == 0


def test_articles_are_not_pulled_into_an_entity():
    assert projected(GOOD, ignored={"the", "of"}).sentence.spans[0] == Span(1, 4, "ORG")


def test_an_entity_without_links_or_too_long_is_lost():
    assert projected(GOOD - {(5, 6)}).n_lost == 1
    assert projected((GOOD - {(5, 6)}) | {(5, 5), (5, 6)}, max_stretch=0).n_lost == 1
    assert projected(GOOD | {(5, 0)}).sentence.spans == (Span(0, 4, "ORG"),)


def named(word, label, *, n_lost=0):
    return Projected(Sentence((word, "x"), (Span(0, 1, label),)), n_lost)


def test_the_filter_keeps_entities_that_agree_with_most_others():
    good, odd = [named("Ana", "PER")] * 3, named("ana", "LOC")
    lost, empty = named("Tom", "PER", n_lost=1), Projected(Sentence(("y",), ()), 0)
    items = [*good, odd, lost, *[empty] * 4]
    kept = filtered(items, ProjectionSettings(min_quality=0.7))
    assert [s.spans for s in kept[:3]] == [(Span(0, 1, "PER"),)] * 3
    assert [s.spans for s in kept[3:]] == [(), ()]  # half as many as with entities


def test_quality_is_the_mean_over_the_entities_of_a_sentence():
    both = Projected(Sentence(("Ana", "Tom"), (Span(0, 1, "PER"), Span(1, 2, "LOC"))), 0)
    items = [both, named("Tom", "PER"), named("Tom", "PER"), named("Tom", "PER")]
    quality = np.mean([1.0, 1 / 4])
    without = {"without_entities": 0.0}
    assert len(filtered(items, ProjectionSettings(min_quality=quality - 0.01, **without))) == 4
    assert len(filtered(items, ProjectionSettings(min_quality=quality + 0.01, **without))) == 3


def test_a_corpus_is_projected_and_counted():
    result = project([SOURCE] * 2, [TARGET] * 2, [GOOD, frozenset()], ProjectionSettings())
    assert len(result.corpus) == 1
    assert result.kept == 0.5
    assert result.corpus[0].spans == (Span(1, 4, "ORG"), Span(6, 7, "PER"))


def test_articles_are_left_out_for_english_of_any_region():
    result = project([SOURCE], [TARGET], [GOOD], ProjectionSettings(), source_language="en-GB")
    assert result.corpus[0].spans[0] == Span(1, 4, "ORG")


def test_parallel_text_of_which_nothing_is_left_is_refused():
    with pytest.raises(DataError, match=r"kept none of 2, whose source side has 4 entities"):
        project([SOURCE] * 2, [TARGET] * 2, [frozenset()] * 2, ProjectionSettings())
