"""Scripts of texts in many languages."""

import pytest

from metacross.text.main_script import main_script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("El niño duerme.", "Latin"),
        ("Žluťoučký kůň", "Latin"),
        ("Президент прибыл", "Cyrillic"),
        ("Η Αθήνα", "Greek"),
        ("زار الرئيس القاهرة", "Arabic"),
        ("הנשיא ביקר", "Hebrew"),
        ("法国总统访问北京", "Han"),
        ("대통령이", "Hangul"),
        ("राष्ट्रपति", "Devanagari"),
        ("ประธานาธิบดี", "Thai"),
        ("პრეზიდენტი", "Georgian"),
    ],
)
def test_the_main_script_of_a_text(text, script):
    assert main_script(text.split()) == main_script([text])
    assert main_script([text]).name == script
    assert main_script([text]).share == 1


def test_marks_and_digits_have_no_script():
    assert main_script(["2026", "–", "💩"]) is None
    assert main_script(["a", "2026!"]).share == 1
