"""Vectors of sentences that come again."""

import numpy as np

from metacross.adaptation.recent_vectors import RecentVectors
from metacross.text.reading import unlabeled
from metacross.text.sentence import Sentence
from metacross.text.word_splitting import split_text


def sentence(word, language=None):
    return Sentence((word,), None, language)


class Encoder:
    """Counts the sentences that it encodes."""

    def __init__(self, recent):
        self.recent, self.encoded = recent, []

    def vectors(self, *words):
        sentences = [
            sentence(*word) if isinstance(word, tuple) else sentence(word) for word in words
        ]

        def compute(positions):
            self.encoded += [words[i] for i in positions]
            return np.array([[float(len(sentences[i].words[0]))] for i in positions], np.float32)

        return self.recent.of(sentences, compute)[:, 0].tolist()


def test_a_sentence_is_encoded_once():
    encoder = Encoder(RecentVectors())
    assert encoder.vectors("a", "bb") == [1, 2]
    assert encoder.vectors("bb", "ccc", "a") == [2, 3, 1]
    assert encoder.encoded == ["a", "bb", "ccc"]


def test_copies_in_one_call_are_encoded_once():
    encoder = Encoder(RecentVectors())
    assert encoder.vectors("bb", "a", "bb") == [2, 1, 2]
    assert sorted(encoder.encoded) == ["a", "bb"]


def test_the_same_words_in_another_language_are_another_sentence():
    encoder = Encoder(RecentVectors())
    encoder.vectors(("a", "zh"), ("a", "ja"))
    assert len(encoder.encoded) == 2


def test_the_same_words_with_other_space_between_them_are_another_sentence():
    sentences = [unlabeled(split_text(text, "zh"), "zh") for text in ("李明", "李 明", "李明")]
    assert len({s.words for s in sentences}) == 1
    encoded = []

    def compute(positions):
        encoded.extend(positions)
        return np.array([[float(i)] for i in positions], np.float32)

    vectors = RecentVectors().of(sentences, compute)[:, 0].tolist()
    assert len(encoded) == 2
    assert vectors[0] == vectors[2] != vectors[1]


def test_those_not_used_for_longest_are_forgotten_also_in_a_large_call():
    encoder = Encoder(RecentVectors(n_kept=2))
    assert encoder.vectors("a", "bb", "ccc") == [1, 2, 3]
    encoder.encoded.clear()
    assert encoder.vectors("ccc", "a") == [3, 1]
    assert encoder.encoded == ["a"]
