"""Labeled source text becomes labeled target text, word by word."""

import pytest

from metacross.baseline_settings import TranslationSettings
from metacross.baselines.language_model import BigramModel
from metacross.baselines.translation import Translator
from metacross.errors import DataError
from metacross.text.casing import CapitalShares, inside_positions
from metacross.text.lexicon import Lexicon
from metacross.text.sentence import Corpus, Sentence, Span

LEXICON = Lexicon.of(
    [
        ("the", "el", 2),
        ("the", "la", 1),
        ("house", "casa", 1),
        ("german", "alemán", 1),
        ("bank", "banco", 1),
        ("bank", "orilla", 1),
        ("new york", "nueva york", 1),
        ("visit", "visitar", 1),
        ("paris", "paris", 1),
        ("paris", "parís", 1),
        ("ana", "aná", 1),
        ("on", "en", 1),
    ]
)
RAW = Corpus(tuple(Sentence(tuple(text.split())) for text in ("es la casa", "la casa", "el río")))


def translated(sentence, lexicon=LEXICON, *, raw_text=None, language="es", gaps=None, **settings):
    translator = Translator(
        lexicon, TranslationSettings(**settings), language=language, raw_text=raw_text, gaps=gaps
    )
    return translator.translated(Corpus((sentence,))).corpus[0]


def words(text, *spans, **options):
    return translated(Sentence(tuple(text.split()), spans, "en"), **options).words


def test_words_are_translated_and_unknown_ones_copied():
    assert words("on the house of 9 !") == ("en", "el", "casa", "of", "9", "!")


def test_the_language_model_chooses_among_translations():
    assert words("see the house", raw_text=RAW, language_model_weight=0)[1] == "el"
    plural = Lexicon.of([("the", "el", 2), ("the", "la", 1), ("house", "casa", 1), ("is", "es", 1)])
    assert words("is the house", lexicon=plural, raw_text=RAW, language_model_weight=2) == (
        "es",
        "la",
        "casa",
    )


def test_the_max_phrase_length_is_translated_and_its_entity_follows():
    sentence = Sentence(("The", "New", "York", "Bank"), (Span(1, 3, "LOC"), Span(3, 4, "ORG")))
    result = translated(sentence)
    assert result.words == ("El", "Nueva", "York", "Banco")
    assert result.spans == (Span(1, 3, "LOC"), Span(3, 4, "ORG"))
    assert result.language == "es"


def test_a_phrase_never_crosses_the_edge_of_an_entity():
    sentence = Sentence(("the", "New", "York"), (Span(2, 3, "PER"),))
    assert translated(sentence).words == ("el", "New", "York")


def test_an_entity_grows_with_its_translation():
    lexicon = Lexicon.of([("the", "de", 1), ("un", "naciones unidas", 1), ("here", "aquí", 1)])
    result = translated(Sentence(("the", "UN", "here"), (Span(1, 2, "ORG"),)), lexicon)
    assert result.words == ("de", "NACIONES", "UNIDAS", "aquí")
    assert result.spans == (Span(1, 3, "ORG"),)


def test_persons_are_copied_and_identical_forms_preferred_in_entities():
    sentence = Sentence(
        ("Ana", "on", "the", "Paris", "bank"), (Span(0, 1, "PER"), Span(3, 4, "LOC"))
    )
    assert translated(sentence).words[0] == "Ana"
    assert translated(sentence).words[3] == "Paris"


def test_capitals_follow_the_source_word():
    assert words("THE house . German") == ("EL", "casa", ".", "Alemán")


def test_a_word_that_the_target_capitalizes_gets_a_capital():
    german = Lexicon.of([("the", "das", 1), ("house", "haus", 1), ("is", "ist", 1)])
    raw = Corpus(tuple(Sentence(("wo", "ist", "das", "Haus", "?")) for _ in range(3)))
    assert words("there is the house", lexicon=german, raw_text=raw) == (
        "there",
        "ist",
        "das",
        "Haus",
    )
    assert words("there is the house", lexicon=german)[3] == "haus"


def test_an_ending_is_removed_from_a_word_that_the_lexicon_does_not_have():
    assert words("the visited the houses") == ("el", "visitar", "el", "casa")


def test_gaps_are_filled_but_not_those_of_names():
    gaps = Lexicon.of([("of", "de", 1), ("eu", "la", 1)])
    in_name = words("on the Bank of EU", Span(2, 5, "ORG"), gaps=gaps)
    assert in_name == ("en", "el", "Banco", "de", "EU")
    assert words("on the EU of house", Span(2, 3, "ORG"), gaps=gaps) == (
        *("en", "el", "EU"),
        *("de", "casa"),
    )


def test_chinese_comes_in_characters_and_names_are_looked_up():
    chinese = Lexicon.of([("he", "他", 1), ("visited", "访问", 1), ("ana", "安娜", 1)])
    sentence = Sentence(("he", "visited", "Ana"), (Span(2, 3, "PER"),))
    result = translated(sentence, chinese, language="zh")
    assert result.words == tuple("他访问安娜")
    assert result.spans == (Span(3, 5, "PER"),)


def test_a_lexicon_of_other_languages_is_refused():
    reverse = Lexicon.of([("casa", "house", 1), ("the", "x", 1)], "es-en.tsv")
    sentence = Sentence(("we", "go", "to", "the", "old", "house"), ())
    with pytest.raises(DataError, match=r"es-en.tsv: expected a lexicon .* found 17 %"):
        translated(sentence, reverse)


def test_a_lexicon_to_another_language_than_that_of_the_raw_text_is_refused():
    dutch = Lexicon.of([("the", "het", 1), ("house", "huis", 1)], "en-nl.tsv")
    sentence = Sentence(("the", "house", "the", "house"), ())
    assert translated(sentence, dutch, raw_text=RAW).words[:2] == ("het", "huis")  # too little text
    much = Corpus(RAW.sentences * 3_000)
    with pytest.raises(DataError, match=r"en-nl.tsv: expected translations to .* es, found 0 %"):
        translated(sentence, dutch, raw_text=much)
    assert translated(sentence, raw_text=much).words[1] == "casa"


def test_bigrams_are_preferred_and_probabilities_sum_to_one():
    model = BigramModel(RAW)
    assert model.log_probability("casa", "la") > model.log_probability("casa", "el")
    known = ["es", "la", "casa", "el", "río", "unknown"]
    assert sum(2.718281828459045 ** model.log_probability(w, "el") for w in known) == pytest.approx(
        1
    )


def test_the_first_word_of_a_sentence_or_quotation_says_nothing_about_capitals():
    words = ("„", "Das", "Haus", "“", ",", "sagt", "er", ":", "Ja", "doch")
    assert [words[i] for i in inside_positions(words)] == ["Haus", "sagt", "er", "doch"]


def test_the_share_of_capitals_is_measured_inside_sentences():
    sentences = [Sentence(("Das", "Haus", "ist", "das", "Haus"))] * 2
    shares = CapitalShares.of(sentences)
    assert shares.overall == pytest.approx(0.5)
    assert shares.usually_capitalized("HAUS", at_least=0.9)
    assert not shares.usually_capitalized("das", at_least=0.1)
