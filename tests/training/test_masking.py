"""Masking of entities."""

from dataclasses import replace

import numpy as np
import pytest

import tiny
from metacross.errors import ModelError
from metacross.settings import load_settings
from metacross.training.masking import EpochMasker, masked
from metacross.training.sampling import Draw
from tiny import tagger_on


def pieces_and_tags(example):
    """Every piece of the sentence's windows with whether its word is in an entity."""
    for window in example.windows:
        inner = window.piece_ids[1:-1]
        for piece, word in zip(inner, window.words, strict=True):
            yield piece, example.tag_ids[word] > 0


@pytest.fixture
def tagger(encoders):
    return tagger_on(encoders["bert"], "encoder.max_length=16", "encoder.overlap=6")


def test_only_pieces_inside_entities_are_masked_and_about_as_many_as_said(tagger):
    mask = tagger.tokenizer.special.mask
    n_inside, n_masked = 0, 0
    rng = np.random.default_rng(0)
    for example in tagger.examples(tiny.corpus(800)):
        changed = masked(example, mask=mask, ratio=0.2, rng=rng)
        pairs = zip(pieces_and_tags(example), pieces_and_tags(changed), strict=True)
        for (before, inside), (after, _) in pairs:
            n_inside += inside
            n_masked += after == mask
            assert after == before or (after == mask and inside)
    assert n_masked / n_inside == pytest.approx(0.2, abs=0.03)


def test_later_pieces_of_a_word_are_masked_too(encoders):
    tagger = tagger_on(encoders["bert"])
    sentence = replace(tiny.corpus(1)[0], words=("qqqq",), spans=tiny.corpus(30)[1].spans[:1])
    sentence = replace(sentence, spans=(replace(sentence.spans[0], start=0, end=1),))
    (example,) = tagger.examples([sentence])
    changed = masked(example, mask=4, ratio=1.0, rng=np.random.default_rng(0))
    assert changed.windows[0].piece_ids[1:-1] == (4,) * 4


def test_a_piece_in_two_windows_is_masked_in_both_or_in_none(tagger):
    sentence = tiny.corpus(1, seed=3, longest=80)[0]
    (example,) = tagger.examples([sentence])
    assert len(example.windows) > 2
    changed = masked(example, mask=4, ratio=0.5, rng=np.random.default_rng(1))
    seen = {}
    for window in changed.windows:
        for i, piece in enumerate(window.piece_ids[1:-1]):
            assert seen.setdefault(window.start + i, piece) == piece


def test_a_sentence_without_entities_stays_as_it_is(tagger):
    plain = replace(tiny.corpus(1)[0], spans=())
    (example,) = tagger.examples([plain])
    assert masked(example, mask=4, ratio=1.0, rng=np.random.default_rng(0)) == example


def masker(tagger, examples, *overrides):
    return EpochMasker(tagger, examples, load_settings("paper", overrides))


def test_masks_are_drawn_anew_every_epoch_and_stay_within_one(tagger):
    examples = tagger.examples(tiny.corpus(30))
    own = masker(tagger, examples, "masking.ratio=0.5")
    first, again, second = ([own.query(Draw(p, epoch)) for p in range(30)] for epoch in (0, 0, 1))
    assert first == again
    assert first != second


def test_masking_needs_a_mask_piece(tagger):
    tagger.tokenizer = replace(
        tagger.tokenizer, special=replace(tagger.tokenizer.special, mask=None)
    )
    with pytest.raises(ModelError, match=r"masking\.ratio: expected 0"):
        masker(tagger, [])
    masker(tagger, [], "masking.ratio=0")
