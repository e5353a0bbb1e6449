"""Sentences are cut into windows of subword pieces."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from metacross.errors import SettingsError
from metacross.model.tokenizer import load_tokenizer
from metacross.text.sentence import Sentence
from metacross.text.single_words import for_single_words, word_mark_ids
from metacross.text.windows import (
    SpecialPieces,
    WindowCutter,
    batch_of,
)

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SPECIAL = SpecialPieces(start=2, end=3, pad=0, unknown=1, mask=4)


def wordpiece_tokenizer() -> Tokenizer:
    """Pieces of one letter: a word has as many pieces as letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = [*SPECIALS, *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIALS)
    return tokenizer


def byte_level_tokenizer() -> Tokenizer:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {piece: i for i, piece in enumerate([*SPECIALS, *sorted(alphabet)])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(SPECIALS)
    return tokenizer


def unigram_tokenizer() -> Tokenizer:
    pieces = [*((piece, 0.0) for piece in SPECIALS), ("▁", -2.0), ("▁a", -1.5)]
    pieces += [(letter, -3.0) for letter in "abcdefghijklmnopqrstuvwxyz"]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(SPECIALS)
    return tokenizer


def split_byte_level_tokenizer() -> Tokenizer:
    """As in Llama 3, Qwen and EuroBERT: a pattern splits the text, bytes come after."""
    tokenizer = byte_level_tokenizer()
    tokenizer.normalizer = normalizers.NFC()
    pattern = Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(pattern, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def sentencepiece_bpe_tokenizer() -> Tokenizer:
    """As in Gemma: a normalizer writes spaces as ``▁``, no pre-tokenizer does."""
    vocabulary = [*SPECIALS, "▁", "▁a", *"abcdefghijklmnopqrstuvwxyz中"]
    tokenizer = Tokenizer(
        models.BPE(
            {piece: i for i, piece in enumerate(vocabulary)}, [("▁", "a")], unk_token="[UNK]"
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.add_special_tokens(SPECIALS)
    return tokenizer


TOKENIZERS = {
    "WordPiece": wordpiece_tokenizer(),
    "byte-level": byte_level_tokenizer(),
    "split byte-level": split_byte_level_tokenizer(),
    "Unigram": unigram_tokenizer(),
    "SentencePiece BPE": sentencepiece_bpe_tokenizer(),
}
ALL = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS.keys())


def windows_of(tokenizer, words, max_length=128, overlap=64):
    cutter = WindowCutter(tokenizer, SPECIAL, max_length=max_length, overlap=overlap)
    return cutter.windows([Sentence(tuple(words))])[0]


@ALL
@settings(deadline=None)
@given(data=st.data())
def test_every_word_is_tagged_exactly_once(tokenizer, data):
    unusual = ["\u200b", " ", "\u00a0", "\x07", "😀", "[MASK]"]
    word = st.text("abcz1é中\u200b ", min_size=1, max_size=12) | st.sampled_from(unusual)
    words = data.draw(st.lists(word, min_size=1, max_size=60))
    max_length = data.draw(st.integers(4, 40))
    overlap = data.draw(st.integers(0, max_length - 3))
    windows = windows_of(tokenizer, words, max_length, overlap)
    scored = [word for window in windows for word in window.scored_words]
    assert sorted(scored) == list(range(len(words)))
    assert all(len(window) <= max_length for window in windows)


@ALL
@settings(deadline=None)
@given(data=st.data())
def test_windows_overlap_by_the_given_length_and_join_to_the_sentence(tokenizer, data):
    words = data.draw(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=60))
    max_length = data.draw(st.integers(4, 30))
    overlap = data.draw(st.integers(0, max_length - 3))
    all_pieces = windows_of(tokenizer, words, 10_000)[0].piece_ids[1:-1]
    windows = windows_of(tokenizer, words, max_length, overlap)
    joined = windows[0].piece_ids[1:-1]
    for previous, window in itertools.pairwise(windows):
        inner = window.piece_ids[1:-1]
        assert inner[:overlap] == previous.piece_ids[1:-1][len(previous) - 2 - overlap :]
        joined += inner[overlap:]
    assert joined == all_pieces


def test_the_paper_s_window_of_128_pieces_continues_with_the_last_64():
    windows = windows_of(TOKENIZERS["WordPiece"], ["a"] * 200)
    assert [len(window) for window in windows] == [128, 128, 78]
    assert [window.words[0] for window in windows] == [0, 62, 124]


def test_a_word_is_tagged_by_the_window_with_most_context():
    windows = windows_of(TOKENIZERS["WordPiece"], ["a"] * 200)
    # Words 62 to 125 are in the first two windows; 93 and 94 are in the middle of the overlap.
    assert [window.scored_words[-1] for window in windows] == [93, 155, 199]


def test_a_short_sentence_is_one_window_with_the_special_pieces():
    (window,) = windows_of(TOKENIZERS["WordPiece"], ["ab", "c"])
    assert window.piece_ids[0] == SPECIAL.start
    assert window.piece_ids[-1] == SPECIAL.end
    assert window.words == (0, 0, 1)
    assert window.scored == (1, 3)


@pytest.mark.parametrize("invisible", ["\u200b", "\x07", "\u00ad", " ", "\ufeff", "\U000e0001"])
@ALL
def test_a_word_without_pieces_shifts_no_label(tokenizer, invisible):
    (window,) = windows_of(tokenizer, ["b", invisible, "c"])
    assert window.scored_words == (0, 1, 2)
    cutter = WindowCutter(tokenizer, SPECIAL)
    (c_alone,) = cutter.windows([Sentence(("c",))])[0]
    assert window.piece_ids[window.scored[2] : -1] == c_alone.piece_ids[c_alone.scored[0] : -1]


def test_a_word_without_pieces_gets_the_unknown_piece():
    (window,) = windows_of(TOKENIZERS["WordPiece"], ["b", "\u200b", "c"])
    assert window.piece_ids[2] == SPECIAL.unknown


@ALL
def test_a_word_has_the_same_pieces_at_every_position(tokenizer):
    (window,) = windows_of(tokenizer, ["abc", "abc"])
    middle = (len(window) - 2) // 2
    assert window.piece_ids[1 : 1 + middle] == window.piece_ids[1 + middle : -1]


@ALL
@pytest.mark.parametrize("word", SPECIALS)
def test_a_word_spelled_like_a_special_piece_is_not_one(tokenizer, word):
    (window,) = windows_of(tokenizer, [word])
    assert not {SPECIAL.mask, SPECIAL.start, SPECIAL.end, SPECIAL.pad} & {*window.piece_ids[1:-1]}


@pytest.mark.parametrize(("max_length", "overlap"), [(128, 126), (2, 0), (128, -1)])
def test_an_overlap_that_leaves_no_room_is_rejected(max_length, overlap):
    with pytest.raises(SettingsError, match="overlap"):
        WindowCutter(TOKENIZERS["WordPiece"], SPECIAL, max_length=max_length, overlap=overlap)


def test_a_batch_is_padded_to_its_longest_window_only():
    cutter = WindowCutter(TOKENIZERS["WordPiece"], SPECIAL)
    windows = cutter.windows([Sentence(("a",)), Sentence(("a", "bcd"))])
    batch = batch_of(windows, SPECIAL.pad)
    assert batch.piece_ids.shape == (2, 6)
    assert batch.piece_ids[0, 3:].tolist() == [SPECIAL.pad] * 3
    assert batch.attention.sum(axis=1).tolist() == [3, 6]


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(5, 20))
def test_a_batch_finds_every_word_of_its_sentences_in_order(lengths, max_length):
    cutter = WindowCutter(TOKENIZERS["WordPiece"], SPECIAL, max_length=max_length, overlap=2)
    letters = "abcdefghij"
    sentences = [Sentence(tuple(letters[i % 10] for i in range(length))) for length in lengths]
    windows = cutter.windows(sentences)
    batch = batch_of(windows, SPECIAL.pad)
    first_pieces = batch.piece_ids[batch.window_of_word, batch.piece_of_word]
    first_letter = TOKENIZERS["WordPiece"].token_to_id("a")
    expected = [first_letter + i % 10 for length in lengths for i in range(length)]
    assert first_pieces.tolist() == expected
    assert np.bincount(batch.sentence_of_word).tolist() == lengths
    assert batch.n_sentences == len(sentences)


@pytest.mark.parametrize(
    ("family", "word", "pieces", "labeled"),
    [
        ("WordPiece", "ab", ["a", "##b"], "a"),
        ("byte-level", "ab", ["Ġ", "a", "b"], "a"),
        ("split byte-level", "ab", ["Ġ", "a", "b"], "a"),
        ("split byte-level", "1b", ["Ġ", "1", "b"], "1"),
        ("Unigram", "ab", ["▁a", "b"], "▁a"),
        ("Unigram", "ba", ["▁", "b", "a"], "b"),
        ("SentencePiece BPE", "ab", ["▁a", "b"], "▁a"),
        ("SentencePiece BPE", "中", ["▁", "中"], "中"),
    ],
)
def test_the_labeled_piece_of_a_word_is_the_first_that_holds_text(family, word, pieces, labeled):
    tokenizer = TOKENIZERS[family]
    (window,) = windows_of(tokenizer, ["b", word, "b"])
    ids = [piece for piece, w in zip(window.piece_ids[1:-1], window.words, strict=True) if w == 1]
    assert [tokenizer.id_to_token(piece) for piece in ids] == pieces
    assert tokenizer.id_to_token(window.piece_ids[window.scored[1]]) == labeled


def test_a_word_of_marks_only_is_labeled_at_its_first_piece():
    (window,) = windows_of(TOKENIZERS["Unigram"], ["b", " ", "▁▁", "b"])
    assert window.scored_words == (0, 1, 2, 3)


@pytest.mark.slow
def test_the_marks_that_the_bundled_tokenizer_leaves_count_as_text():
    tokenizer = load_tokenizer("mini").fast.backend_tokenizer
    encoding = for_single_words(tokenizer).encode(
        ["ONU"], is_pretokenized=True, add_special_tokens=False
    )
    assert encoding.tokens == ["▁", "ONU"]
    assert word_mark_ids(for_single_words(tokenizer)) == frozenset()


@ALL
@pytest.mark.parametrize(
    ("start", "end"), [(2, None), (None, 3), (None, None)], ids=["start", "end", "neither"]
)
def test_windows_have_only_the_special_pieces_that_the_encoder_reads(tokenizer, start, end):
    special = SpecialPieces(start=start, end=end, pad=0, unknown=1, mask=4)
    words = tuple("abcdefgh" * 3)
    plain = windows_of(tokenizer, words, max_length=10_000)[0]
    cutter = WindowCutter(tokenizer, special, max_length=12, overlap=3)
    windows = cutter.windows([Sentence(words)])[0]
    assert len(windows) > 1
    pieces: list[int] = []
    for window in windows:
        assert len(window) <= 12
        assert (window.piece_ids[0] == SPECIAL.start) == (start is not None)
        assert (window.piece_ids[-1] == SPECIAL.end) == (end is not None)
        pieces[window.start :] = window.piece_ids[window.text_pieces]
    assert tuple(pieces) == plain.piece_ids[plain.text_pieces]
    labeled = [
        (word, window.piece_ids[position])
        for window in windows
        for word, position in zip(window.scored_words, window.scored, strict=True)
    ]
    expected = zip(plain.scored_words, (plain.piece_ids[i] for i in plain.scored), strict=True)
    assert sorted(labeled) == list(expected)
