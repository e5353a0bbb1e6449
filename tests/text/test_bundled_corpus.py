"""The bundled corpus is as its card says, and is annotated consistently."""

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
# German common nouns in the news: capitalized, but never names.
GERMAN_NOUNS = "Polizei Regierung Stadt Gericht Partei Prozent Euro Jahr Trainer Spiel Feuer Wetter"


def entities(name, *, label=None):
    """The entities of a part as (sentence, span), of one label if given; at least one."""
    pairs = [(sentence, span) for sentence in CORPORA[name] for span in sentence.spans]
    pairs = [(sentence, span) for sentence, span in pairs if label in (None, span.label)]
    assert pairs, f"{name} has no entities of {label}"
    return pairs


def single_word_entities(name):
    """The words of the entities of a part that have one word; at least one."""
    found = [s.words[span.start] for s, span in entities(name) if span.end - span.start == 1]
    assert found, f"{name} has no entities of one word"
    return found


def words(*lines):
    return {word for line in lines for word in line.split()}


@pytest.mark.parametrize(("name", "n_sentences"), PARTS.items())
def test_the_sizes_and_proportions_are_as_documented(name, n_sentences):
    corpus = CORPORA[name]
    assert len(corpus) == n_sentences
    assert set(corpus.entities_by_label) == {"LOC", "MISC", "ORG", "PER"}
    assert corpus.notes.repairs == 0
    for label, low, high in (("LOC", 25, 36), ("PER", 22, 33), ("ORG", 21, 31), ("MISC", 11, 21)):
        percentage = 100 * corpus.entities_by_label[label] / corpus.n_entities
        assert low < percentage < high, (label, percentage)
    n_without_entities = sum(not sentence.spans for sentence in corpus)
    assert 0.14 < n_without_entities / n_sentences < 0.23


def test_no_sentence_occurs_twice():
    all_sentences = [sentence.words for corpus in CORPORA.values() for sentence in corpus]
    assert len(all_sentences) == sum(PARTS.values())
    assert len(all_sentences) == len(set(all_sentences))


@pytest.mark.parametrize("name", [name for name in PARTS if name != "en.train"])
def test_fewer_than_half_of_the_test_entities_occur_in_the_training_part(name):
    in_training = {sentence.words_of(span) for sentence, span in entities("en.train")}
    is_known = [sentence.words_of(span) in in_training for sentence, span in entities(name)]
    assert sum(is_known) < len(is_known) / 2


@pytest.mark.parametrize("name", PARTS)
def test_the_same_words_have_two_labels_only_as_place_and_club_or_people(name):
    labels_of = defaultdict(set)
    for sentence, span in entities(name):
        labels_of[sentence.words_of(span)].add(span.label)
    for entity_words, labels in labels_of.items():
        assert labels in ({"LOC", "ORG"}, {"LOC", "MISC"}) or len(labels) == 1, entity_words


@pytest.mark.parametrize("name", [name for name in PARTS if name != "zh.test"])
def test_no_person_begins_with_a_title(name):
    titles = words(*TITLES)
    for sentence, span in entities(name, label="PER"):
        first = sentence.words[span.start]
        assert first not in titles, sentence.words_of(span)
        assert first[0].isupper() or first in {"de", "van", "von", "al-", "d'"}, first


@pytest.mark.parametrize("name", PARTS)
def test_a_month_alone_is_not_an_entity(name):
    assert not words(*MONTHS) & {*single_word_entities(name)}


def test_german_common_nouns_are_not_entities():
    nouns = words(GERMAN_NOUNS)
    assert nouns & {word for sentence in CORPORA["de.test"] for word in sentence.words}
    assert not nouns & {*single_word_entities("de.test")}


@pytest.mark.parametrize("name", PARTS)
def test_entities_begin_and_end_with_letters_or_digits(name):
    for sentence, span in entities(name):
        first, last = sentence.words[span.start], sentence.words[span.end - 1]
        assert any(c.isalnum() for c in first), sentence.words_of(span)
        assert any(c.isalnum() for c in last), sentence.words_of(span)
        assert last != "'s" or span.label in ("ORG", "LOC"), sentence.words_of(span)


# Words that always name a nationality or a language.
NATIONALITIES = {
    "en": "French German Dutch Spanish Italian Chinese Japanese Russian Swedish Kenyan Polish",
    "es": "francés francesa alemán alemana italiano italiana chilena chileno peruano peruana ruso",
    "nl": "Franse Duitse Belgische Italiaanse Spaanse Britse Poolse Nederlandse Vlaamse Chinese",
    "de": "französische deutsche deutschen italienische japanische indonesischen niederländischer",
    "fr": "français française allemand allemande belge italien italienne espagnol sénégalais",
}


@pytest.mark.parametrize("name", [name for name in PARTS if name != "zh.test"])
def test_a_word_of_nationality_is_always_part_of_an_entity(name):
    nationalities = words(NATIONALITIES[name[:2]])
    n_occurrences = 0
    for sentence in CORPORA[name]:
        in_entity = {i for span in sentence.spans for i in range(span.start, span.end)}
        for position, word in enumerate(sentence.words):
            if word in nationalities:
                n_occurrences += 1
                assert position in in_entity, sentence.words
    assert n_occurrences > 0


def test_the_card_gives_the_counts():
    card = (corpus_folder() / "README.md").read_text()
    assert CORPORA
    for name, corpus in CORPORA.items():
        row = re.search(rf"^\| `{re.escape(name)}\.conll` \|(.*)$", card, flags=re.MULTILINE)
        cells = [cell.strip().replace(",", "") for cell in row[1].split("|")]
        n_entities = corpus.entities_by_label
        expected = [len(corpus), sum(not s.spans for s in corpus), corpus.n_words]
        expected += [n_entities[label] for label in ("LOC", "MISC", "ORG", "PER")]
        assert cells[:7] == [str(number) for number in expected]
