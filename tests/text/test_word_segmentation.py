"""Segmenters find the words of text without spaces."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacross.errors import SettingsError
from metacross.text.word_segmentation import LIBRARIES, segmenter, word_ends

RUNS = {
    "zh": st.text("李明在柏林工作中华人民共和国北京大学１９９８ＷＴＯ々〇𠀀ab9", max_size=30),
    "ja": st.text("東京都の小池百合子はｱﾒﾘｶﾞバイデンー々か\u3099", max_size=30),
    "th": st.text("นายกรัฐมนตรีเดินทางไปกรุงเทพฯ่้ำๆ๒", max_size=30),
}


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("zh", "李明 在 柏林 工作"),
        ("zh", "１９９８ 年 加入 ＷＴＯ"),
        ("ja", "東京 都 知事 の 小池 百合子 氏"),
        ("th", "ฉัน ไป กรุงเทพมหานคร"),
    ],
)
def test_a_segmenter_finds_words(language, words):
    assert segmenter(language)(words.replace(" ", "")) == words.split()


@pytest.mark.parametrize("language", list(LIBRARIES))
@given(data=st.data())
@settings(max_examples=60)
def test_the_words_of_a_run_are_the_run(language, data):
    run = data.draw(RUNS[language])
    assert "".join(segmenter(language)(run)) == run


@pytest.mark.parametrize("language", list(LIBRARIES))
def test_a_very_long_run_is_segmented_to_its_end(language):
    word = {"zh": "柏林", "ja": "東京", "th": "กรุงเทพ"}[language]
    ends = word_ends(word * 20_000, language)
    assert max(ends) == len(word) * 20_000
    assert len(ends) > 10_000


@pytest.mark.parametrize("language", list(LIBRARIES))
def test_a_missing_library_is_named_with_what_installs_it(language, monkeypatch):
    library = LIBRARIES[language]
    monkeypatch.setitem(sys.modules, library.module, None)
    segmenter.cache_clear()
    with pytest.raises(
        SettingsError, match=r"is not installed: pip install '(rjieba|metacross\[..\])'"
    ):
        segmenter(language)
    segmenter.cache_clear()
