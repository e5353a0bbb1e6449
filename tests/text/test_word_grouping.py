"""Units are grouped into words within runs of a script without spaces."""

import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacross.errors import SettingsError
from metacross.text import word_grouping
from metacross.text.reading import unlabeled
from metacross.text.sentence import Sentence, Span
from metacross.text.word_grouping import MissingSegmenterWarning, WordGrouper, WordGroups
from metacross.text.word_segmentation import LIBRARIES
from metacross.text.word_splitting import split_text

SEGMENTED = WordGrouper("segmented")

PARTS = st.sampled_from(
    [
        *(
            "Angela ",
            "GDP",
            "naïve",
            "e\u0301",
            "x@例子.com ",
            "3.5%",
            "，",
            "。",
            " ",
            "\u3000",
            "（",
            "-",
        ),
        *("李明在柏林说", "中华人民共和国", "１９９８年", "ＷＴＯ", "葛\U000e0100城", "𠀀𠀁", "〇"),
        *("東京タワーへ行く", "ｱﾒﾘｶﾞ", "か\u3099", "ー", "々"),
        *("นายกรัฐมนตรี", "เดินทางไป", "น้ำ", "๒๕"),
        *("الأمم المتحدة", "شَرْق", "שָׁלוֹם", "हिन्दी में", "क्\u200dष", "서울에서", "한국"),
        *("👨\u200d👩\u200d👧", "👍🏽", "🇯🇵", "❤\ufe0f", "1\ufe0f\u20e3", "\u200b", "😀"),
    ]
)
TEXTS = st.lists(PARTS, min_size=1, max_size=8).map("".join)
LANGUAGES = st.sampled_from([None, "zh", "ja", "th", "en", "zh-Hans"])


def words_of(units, language=None):
    sentence = Sentence(tuple(units), None, language)
    groups = SEGMENTED.groups(sentence)
    return list((groups.grouped(sentence) if groups else sentence).words)


@st.composite
def sentences(draw):
    """Sentences of raw text, or of the same units without their text, with or without entities."""
    text, language = draw(TEXTS), draw(LANGUAGES)
    layout = split_text(text, language)
    if not layout.offsets:
        layout = split_text("李明", language)
    sentence = unlabeled(layout, language)
    if draw(st.booleans()):
        sentence = Sentence(sentence.words, None, language)
    edges = sorted(draw(st.sets(st.integers(0, len(sentence.words)), max_size=6)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return sentence.with_spans(tuple(Span(start, end, "LOC") for start, end in pairs))


def test_the_characters_of_a_corpus_become_words():
    assert words_of("李明在柏林工作。", "zh") == ["李明", "在", "柏林", "工作", "。"]


def test_units_of_other_scripts_are_words_of_their_own():
    units = ["李", "明", "visited", "New", "York", "5", "月"]
    assert words_of(units, "zh") == ["李明", "visited", "New", "York", "5", "月"]


def test_letters_and_digits_of_a_corpus_in_characters_become_words_too():
    assert words_of("１９９８年加入WTO。", "zh") == ["１９９８", "年", "加入", "WTO", "。"]


def test_a_sentence_given_in_words_is_left_alone():
    assert SEGMENTED.groups(Sentence(("柏林", "是", "的", "首", "都"), None, "zh")) is None


def test_a_space_in_the_text_separates_words():
    sentence = unlabeled(split_text("柏 林"), "zh")
    assert SEGMENTED.groups(sentence) is None
    assert words_of(sentence.words, "zh") == ["柏林"]


def test_thai_text_is_read_in_words():
    sentence = unlabeled(split_text("ฉันไปกรุงเทพมหานคร"), "th")
    groups = SEGMENTED.groups(sentence)
    assert list(groups.grouped(sentence).words) == ["ฉัน", "ไป", "กรุงเทพมหานคร"]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("東京都", "ja", ["東京", "都"]),
        ("東京都", "jpn", ["東京", "都"]),
        ("東京都", "zh", ["東", "京都"]),
        ("東京都", None, ["東", "京都"]),
        ("東京都へ", None, ["東京", "都", "へ"]),
        ("東京都へ", "en", ["東京", "都", "へ"]),
    ],
)
def test_the_language_or_else_kana_decides_whose_words_han_has(text, language, expected):
    assert words_of(text, language) == expected


def test_with_given_words_nothing_is_grouped():
    assert WordGrouper("given").groups(Sentence(tuple("李明在柏林工作"), None, "zh")) is None


@pytest.fixture
def no_thai(monkeypatch):
    monkeypatch.setitem(sys.modules, LIBRARIES["th"].module, None)
    word_grouping._warn_once.cache_clear()
    yield Sentence(tuple("ไทย"), None, "th")
    word_grouping._warn_once.cache_clear()


def test_without_the_library_there_is_one_warning_and_characters_stay(no_thai):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        groups = [WordGrouper("auto").groups(no_thai) for _ in range(3)]
    assert groups == [None, None, None]
    assert [warning.category for warning in caught] == [MissingSegmenterWarning]
    assert "pip install 'metacross[th]'" in str(caught[0].message)


def test_without_the_library_segmented_words_are_refused(no_thai):
    with pytest.raises(SettingsError, match=r"is not installed: pip install 'metacross\[th\]'"):
        SEGMENTED.groups(no_thai)


def test_words_are_cut_at_the_edges_of_entities():
    sentence = Sentence(tuple("北京大学生"), (Span(0, 4, "ORG"),), "zh")
    groups = WordGroups((2, 5)).cut_at(sentence.spans)
    assert groups.grouped(sentence) == Sentence(("北京", "大学", "生"), (Span(0, 2, "ORG"),), "zh")


@given(sentences())
@settings(max_examples=200)
def test_every_unit_is_in_exactly_one_word_and_in_order(sentence):
    groups = SEGMENTED.groups(sentence)
    if groups is None:
        return
    units = [unit for start, end in groups.ranges for unit in range(start, end)]
    assert units == list(range(len(sentence.words)))
    assert all(start < end for start, end in groups.ranges)
    assert len(groups.word_of_unit) == len(sentence.words)
    read = groups.grouped(sentence.with_spans(None))
    assert "".join(read.words) == "".join(sentence.words)


@given(sentences())
@settings(max_examples=200)
def test_entities_come_back_from_words_that_are_cut_at_their_edges(sentence):
    groups = SEGMENTED.groups(sentence)
    if groups is None:
        return
    cut = groups.cut_at(sentence.spans)
    assert set(groups.ends) <= set(cut.ends)
    on_words = cut.grouped(sentence).spans
    assert cut.on_units(on_words) == sentence.spans


@given(TEXTS, LANGUAGES)
@settings(max_examples=200)
def test_the_units_of_text_in_any_scripts_cover_it_except_for_whitespace(text, language):
    layout = split_text(text, language)
    position = 0
    for start, end in layout.offsets:
        assert position <= start < end
        assert not text[position:start].strip()
        position = end
    assert not text[position:].strip()


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("葛\U000e0100城か\u3099", "葛\U000e0100 城 か\u3099"),
        ("ｱﾒﾘｶﾞ", "ｱ ﾒ ﾘ ｶﾞ"),
        ("น้ำไทย", "น้ำ ไ ท ย"),
        ("a👨\u200d👩\u200d👧b👍🏽🇯🇵🇫🇷❤\ufe0f", "a 👨\u200d👩\u200d👧 b 👍🏽 🇯🇵 🇫🇷 ❤\ufe0f"),
        ("क्\u200dष है", "क्\u200dष है"),
        ("שָׁלוֹם, שַׂר", "שָׁלוֹם , שַׂר"),
        ("الأمم المتحدة؟", "الأمم المتحدة ؟"),
    ],
)
def test_marks_and_joined_characters_stay_with_what_they_belong_to(text, units):
    layout = split_text(text)
    assert [text[start:end] for start, end in layout.offsets] == units.split(" ")
