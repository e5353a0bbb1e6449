"""Text is split into words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacross.text.word_splitting import split_text


def words(text, language=None):
    layout = split_text(text, language)
    return [layout.text[start:end] for start, end in layout.offsets]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Ginebra, 23 may (EFECOM).", "es", "Ginebra , 23 may ( EFECOM ) ."),
        ("Dr. Jean-Pierre's 3,500.50 euros", None, "Dr . Jean-Pierre's 3,500.50 euros"),
        ("The bank's chief didn't go.", "en", "The bank 's chief did n't go ."),
        ("L'ONU d’aujourd'hui", "fr", "L' ONU d’ aujourd'hui"),
        ("U.S. troops, 20:15", "en", "U.S. troops , 20:15"),
        ('"¿Qué?" -- dijo', "es", '" ¿ Qué ? " - - dijo'),
        (
            "see https://a.org/x?y=1, or mail a.b@c.org.",
            None,
            "see https://a.org/x?y=1 , or mail a.b@c.org .",
        ),
        ("李明在柏林说：GDP增长3.5%。", "zh", "李 明 在 柏 林 说 ： GDP 增 长 3.5 % 。"),
        ("東京タワーへ行く", "ja", "東 京 タ ワ ー へ 行 く"),
        ("서울에서 만났다.", "ko", "서울에서 만났다 ."),
        ("हिन्दी में लिखा।", "hi", "हिन्दी में लिखा ।"),
        ("Dijo 'Luis'\nayer", "es", "Dijo ' Luis ' ayer"),
        ("vive en ‘Bilbao’\r\nLuego", "es", "vive en ‘ Bilbao ’ Luego"),
        ("Bilbao-\tMadrid a_\x1fb d'", None, "Bilbao - Madrid a _ b d '"),
        ("", None, ""),
        (" \t\u3000 ", None, ""),
    ],
)
def test_words_of_running_text(text, language, expected):
    assert words(text, language) == expected.split()


@pytest.mark.slow
@given(st.text(max_size=60), st.sampled_from([None, "en", "fr", "zh"]))
def test_the_words_cover_the_text_in_order_except_for_whitespace(text, language):
    layout = split_text(text, language)
    position = 0
    for start, end in layout.offsets:
        assert position <= start < end
        assert not text[position:start].strip()
        position = end
    assert not text[position:].strip()
