"""The text that the student is trained on: reading, batches, augmentation, masking."""

import random

import pytest
import torch

import tiny_teacher
from metacross.errors import DataError, SettingsError
from tools.mini_encoder.augmentation import AlignedPieces, Augmenter
from tools.mini_encoder.open_text import read_open_text
from tools.mini_encoder.settings import (
    AugmentationSettings,
    WordMaskingSettings,
    distillation_settings,
)
from tools.mini_encoder.text_stream import TextStream, cut_by_length
from tools.mini_encoder.vocabulary import SPECIALS
from tools.mini_encoder.word_masking import WordMasker

UNCHANGED = AugmentationSettings(split=0, characters=0, all_capitals=0, some_capitals=0, title=0)


def test_only_text_of_open_sources_is_read(parts):
    assert "closed" not in f"{parts.text.sentences} {parts.text.pairs}"
    assert list(parts.text.sentences) == ["en", "de", "zh"]
    assert len(parts.text.pairs["de"]) == 20


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "expected sentences of open sources"),
        ("closed\tnewspaper\n", "expected sentences of open sources"),
        ("too\tmany\ttatoeba\n", r"en.tsv:1: expected 2 columns, found 3"),
        (b"\xff\ttatoeba\n", r"en.tsv:1: expected utf-8"),
    ],
)
def test_unusable_text_is_an_error_with_its_place(write, tmp_path, rows, message):
    write("data/text/en.tsv", rows)
    with pytest.raises(DataError, match=message):
        read_open_text(tmp_path / "data")


def test_a_batch_depends_only_on_its_number(parts):
    in_order, shuffled = (TextStream(parts.text, parts.tokenizer, parts.settings) for _ in range(2))
    expected = {number: in_order.batch(number) for number in range(-3, 8)}
    for number in random.Random(0).sample(sorted(expected), len(expected)):
        batch = shuffled.batch(number)
        for name in ("plain", "augmented", "alignment"):
            assert torch.equal(getattr(batch, name), getattr(expected[number], name))


def test_another_seed_gives_other_batches(parts):
    other_settings = distillation_settings([*tiny_teacher.SMALL, "run.seed=2"])
    batch, other_batch = (
        TextStream(parts.text, parts.tokenizer, settings).batch(0)
        for settings in (parts.settings, other_settings)
    )
    assert batch.augmented.tolist() != other_batch.augmented.tolist()


def test_batches_hold_all_sentences_by_length_and_none_is_empty():
    rng = random.Random(1)
    rows = [AlignedPieces((1,), (1,) * rng.choice([3, 4, 90]), (0,)) for _ in range(23)]
    for n_batches in (1, 2, 7, 23):
        batches = cut_by_length([[row] for row in rows], n_batches)
        assert len(batches) == n_batches
        assert all(batches)
        assert sum(map(len, batches)) == len(rows)
        lengths = [len(row.augmented) for batch in batches for row in batch]
        assert lengths == sorted(lengths)


def test_a_chunk_too_small_for_its_batches_is_refused(parts):
    settings = distillation_settings([*tiny_teacher.SMALL, "stream.chunk_size=3"])
    with pytest.raises(SettingsError, match=r"stream\.chunk_size: expected at least two"):
        TextStream(parts.text, parts.tokenizer, settings)


def test_the_error_about_an_unknown_setting_suggests_the_most_similar_one():
    with pytest.raises(SettingsError, match=r"run\.stepz.*did you mean steps"):
        distillation_settings(["run.stepz=3"])


def test_without_augmentation_every_piece_is_aligned_with_itself(parts):
    augmenter = Augmenter(parts.tokenizer, UNCHANGED, max_length=96)
    (pieces,) = augmenter.aligned_pieces(["ana saw the old rome."], ["en"], random.Random(0))
    assert pieces.plain == pieces.augmented
    assert pieces.alignment == tuple(range(len(pieces.plain)))


def test_pieces_in_capitals_are_aligned_with_the_piece_of_their_last_letter(parts):
    capitals = UNCHANGED.model_copy(update={"all_capitals": 1.0})
    augmenter = Augmenter(parts.tokenizer, capitals, max_length=96)
    (pieces,) = augmenter.aligned_pieces(["ana saw"], ["en"], random.Random(0))
    tokens = [parts.tokenizer.id_to_token(piece_id) for piece_id in pieces.augmented]
    assert tokens == ["[CLS]", "▁", "A", "N", "A", "▁", "S", "A", "W", "[SEP]"]
    assert pieces.alignment[2:5] == (1, 1, 1)
    assert pieces.alignment[6:] == (2, 2, 2, 3)


def test_chinese_characters_are_aligned_with_the_piece_that_contains_them(parts):
    characters = UNCHANGED.model_copy(update={"characters": 1.0})
    augmenter = Augmenter(parts.tokenizer, characters, max_length=96)
    (pieces,) = augmenter.aligned_pieces(["我爱北京"], ["zh"], random.Random(0))
    plain = [parts.tokenizer.id_to_token(piece_id) for piece_id in pieces.plain]
    augmented = [parts.tokenizer.id_to_token(piece_id) for piece_id in pieces.augmented]
    assert plain == ["[CLS]", "我", "爱", "北京", "[SEP]"]
    assert augmented == ["[CLS]", *"我爱北京", "[SEP]"]
    aligned_pieces = [plain[position] for position in pieces.alignment[1:-1]]
    assert aligned_pieces == ["我", "爱", "北京", "北京"]


def test_a_long_sentence_is_cut_to_max_length(parts):
    augmenter = Augmenter(parts.tokenizer, UNCHANGED, max_length=8)
    texts = ["ana saw the old rome . " * 50]
    (pieces,) = augmenter.aligned_pieces(texts, ["en"], random.Random(0))
    assert len(pieces.plain) == len(pieces.augmented) == len(pieces.alignment) == 8


def test_all_pieces_of_a_word_are_masked_together_and_special_pieces_never(parts):
    masker = WordMasker(parts.tokenizer, WordMaskingSettings(sentences=1, words=0.5))
    piece_ids = torch.tensor([parts.tokenizer.encode("Xyz saw Qrs and Tuv saw Hij").ids])
    masked_ids, is_masked = masker.masked(piece_ids, 1, 2)
    assert is_masked.any()
    assert (masked_ids[is_masked] == SPECIALS.index("[MASK]")).all()
    assert not is_masked[0, 0]
    assert not is_masked[0, -1]
    word_is_masked = None
    for piece_id, masked in zip(piece_ids[0, 1:-1].tolist(), is_masked[0, 1:-1], strict=True):
        if parts.tokenizer.id_to_token(piece_id).startswith("▁"):
            word_is_masked = bool(masked)
        assert bool(masked) == word_is_masked


def test_masking_depends_only_on_the_seeds(parts):
    masker = WordMasker(parts.tokenizer, WordMaskingSettings(sentences=1, words=0.5))
    piece_ids = torch.tensor([parts.tokenizer.encode("Xyz saw Qrs and Tuv saw Hij").ids])
    first, same, other = (masker.masked(piece_ids, 1, seed)[0] for seed in (2, 2, 3))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
