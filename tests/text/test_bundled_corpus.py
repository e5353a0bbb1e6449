"""The bundled corpus is what its card says, and marks alike what is alike."""

import re
from collections import defaultdict

import pytest

from metacross.text.bundled_corpus import TARGETS, bundled_corpus, corpus_folder

PARTS = {"en.train": 500, "en.dev": 100, **{f"{language}.test": 100 for language in TARGETS}}
CORPORA = {name: bundled_corpus(*name.split(".")) for name in PARTS}
TITLES = {
    "President Minister Mr Mrs Ms Dr Professor Judge Captain King Queen Senator Coach Sir",
    "presidente presidenta ministro ministra señor señora doctor doctora alcalde alcaldesa juez",
    "minister burgemeester meneer mevrouw premier koning koningin rechter trainer wethouder",
    "Präsident Präsidentin Minister Ministerin Herr Frau Doktor Bürgermeister Trainer Imam",
    "président présidente ministre monsieur madame maire docteur juge entraîneur",
}
MONTHS = {
    "January February March April June July August September October November December Monday",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember Montag",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi",
}
# German common nouns of the news; written with a capital, never a name.
GERMAN_NOUNS = "Polizei Regierung Stadt Gericht Partei Prozent Euro Jahr Trainer Spiel Feuer Wetter"


def entities(name):
    for sentence in CORPORA[name]:
        for span in sentence.spans:
            yield sentence, span


def words(*lines):
    return {word for line in lines for word in line.split()}


@pytest.mark.parametrize(("name", "n_sentences"), PARTS.items())
def test_the_sizes_and_proportions_are_as_promised(name, n_sentences):
    corpus = CORPORA[name]
    assert len(corpus) == n_sentences
    assert set(corpus.entities_by_label) == {"LOC", "MISC", "ORG", "PER"}
    assert corpus.notes.repairs == 0
    for label, low, high in (("LOC", 25, 36), ("PER", 22, 33), ("ORG", 21, 31), ("MISC", 11, 21)):
        share = 100 * corpus.entities_by_label[label] / corpus.n_entities
        assert low < share < high, (label, share)
    without = sum(not sentence.spans for sentence in corpus)
    assert 0.14 < without / n_sentences < 0.23


def test_no_sentence_stands_twice():
    everything = [sentence.words for corpus in CORPORA.values() for sentence in corpus]
    assert len(everything) == len(set(everything))


@pytest.mark.parametrize("name", [name for name in PARTS if name != "en.train"])
def test_fewer_than_half_of_the_tested_entities_were_seen_in_training(name):
    seen = {sentence.words_of(span) for sentence, span in entities("en.train")}
    found = [sentence.words_of(span) in seen for sentence, span in entities(name)]
    assert sum(found) < len(found) / 2


@pytest.mark.parametrize("name", PARTS)
def test_the_same_words_have_two_types_only_as_place_and_club_or_people(name):
    types = defaultdict(set)
    for sentence, span in entities(name):
        types[sentence.words_of(span)].add(span.label)
    for own_words, labels in types.items():
        assert labels in ({"LOC", "ORG"}, {"LOC", "MISC"}) or len(labels) == 1, own_words


@pytest.mark.parametrize("name", [name for name in PARTS if name != "zh.test"])
def test_no_person_begins_with_a_title(name):
    titles = words(*TITLES)
    for sentence, span in entities(name):
        if span.label == "PER":
            first = sentence.words[span.start]
            assert first not in titles, sentence.words_of(span)
            assert first[0].isupper() or first in {"de", "van", "von", "al-", "d'"}, first


@pytest.mark.parametrize("name", PARTS)
def test_a_month_alone_is_no_entity(name):
    months = words(*MONTHS)
    for sentence, span in entities(name):
        if span.end - span.start == 1:
            assert sentence.words[span.start] not in months, sentence.words


def test_german_common_nouns_are_no_entities():
    nouns = words(GERMAN_NOUNS)
    for sentence, span in entities("de.test"):
        if span.end - span.start == 1:
            assert sentence.words[span.start] not in nouns


@pytest.mark.parametrize("name", PARTS)
def test_entities_begin_and_end_with_letters_or_digits(name):
    for sentence, span in entities(name):
        first, last = sentence.words[span.start], sentence.words[span.end - 1]
        assert any(c.isalnum() for c in first), sentence.words_of(span)
        assert any(c.isalnum() for c in last), sentence.words_of(span)
        assert last != "'s" or span.label in ("ORG", "LOC"), sentence.words_of(span)


# Words that, wherever they stand alone, name a nationality or a language.
NATIONALITIES = {
    "en": "French German Dutch Spanish Italian Chinese Japanese Russian Swedish Kenyan Polish",
    "es": "francés francesa alemán alemana italiano italiana chilena chileno peruano peruana ruso",
    "nl": "Franse Duitse Belgische Italiaanse Spaanse Britse Poolse Nederlandse Vlaamse Chinese",
    "de": "französische französischen deutsche deutschen italienische polnische polnischen",
    "fr": "français française allemand allemande belge italien italienne espagnol sénégalais",
}


@pytest.mark.parametrize("name", [name for name in PARTS if name != "zh.test"])
def test_a_word_of_nationality_is_always_part_of_an_entity(name):
    nationalities = words(NATIONALITIES[name[:2]])
    for sentence in CORPORA[name]:
        covered = {i for span in sentence.spans for i in range(span.start, span.end)}
        for position, word in enumerate(sentence.words):
            assert word not in nationalities or position in covered, sentence.words


def test_the_card_gives_the_counts():
    card = (corpus_folder() / "README.md").read_text()
    for name, corpus in CORPORA.items():
        row = re.search(rf"^\| `{re.escape(name)}\.conll` \|(.*)$", card, flags=re.MULTILINE)
        cells = [cell.strip().replace(",", "") for cell in row[1].split("|")]
        types = corpus.entities_by_label
        wanted = [len(corpus), sum(not s.spans for s in corpus), corpus.n_words]
        wanted += [types[label] for label in ("LOC", "MISC", "ORG", "PER")]
        assert cells[:7] == [str(number) for number in wanted]
