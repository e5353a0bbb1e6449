"""A lexicon from word vectors of two languages."""

import numpy as np
import pytest
import torch

from metacross.baselines.clustering import unit_length
from metacross.baselines.lexicon_induction import induced_lexicon, mutual_pairs, nearest_words
from metacross.errors import DataError
from metacross.text.word_vectors import WordVectors

WIDTH, N_WORDS, N_ALIKE = 8, 200, 30


def _two_languages(noise, seed=0):
    """Words of which the first are spelled alike; the target's vectors are rotated, with noise."""
    rng = np.random.default_rng(seed)
    matrix = unit_length(rng.normal(size=(N_WORDS, WIDTH)).astype(np.float32))
    rotation = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0].astype(np.float32)
    words = [f"w{i}" for i in range(N_WORDS)]
    foreign = [word if i < N_ALIKE else f"{word}-x" for i, word in enumerate(words)]
    noisy = matrix @ rotation + noise * rng.normal(size=matrix.shape).astype(np.float32)
    return WordVectors(tuple(words), matrix), WordVectors(tuple(foreign), noisy)


@pytest.mark.parametrize(("noise", "least"), [(0.0, 1.0), (0.1, 0.85)])
def test_words_find_their_translations_through_those_spelled_alike(noise, least):
    source, target = _two_languages(noise)
    lexicon = induced_lexicon(source, target)
    found = [lexicon.translations(word)[0].words[0] for word in source.words]
    right = np.mean([a == b for a, b in zip(found, target.words, strict=True)])
    assert right >= least


def test_refining_the_map_helps_where_few_words_are_spelled_alike(monkeypatch):
    source, target = _two_languages(0.15, seed=1)
    shares = []
    for refinements in (0, 3):
        monkeypatch.setattr("metacross.baselines.lexicon_induction._REFINEMENTS", refinements)
        lexicon = induced_lexicon(source, target)
        found = [lexicon.translations(word)[0].words[0] for word in source.words]
        shares.append(np.mean([a == b for a, b in zip(found, target.words, strict=True)]))
    assert shares[1] > shares[0]


def test_a_word_that_is_near_to_all_is_not_taken_for_all():
    hub = torch.tensor([1.0, 1.0, 1.0])
    rows = torch.eye(3) + 2.0 * hub
    rows = torch.nn.functional.normalize(rows)
    columns = torch.nn.functional.normalize(torch.stack([hub, *(torch.eye(3) + 0.2 * hub)]))
    assert (rows @ columns.T).argmax(dim=1).tolist() == [0, 0, 0]  # by the cosine alone
    assert nearest_words(rows, columns).tolist() == [1, 2, 3]


def test_mutual_pairs_are_nearest_both_ways():
    source, target = _two_languages(0.0)
    rotated = WordVectors(target.words, source.matrix)
    assert mutual_pairs(source, rotated) == list(zip(source.words, target.words, strict=True))


def test_too_few_words_spelled_alike_are_refused():
    source, target = _two_languages(0.0)
    strange = WordVectors(tuple(f"{w}-y" for w in target.words), target.matrix)
    with pytest.raises(DataError, match="expected at least 8 pairs of words"):
        induced_lexicon(source, strange)
