"""Text is split into sentences."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacross.text.abbreviations import period_rules
from metacross.text.sentence_splitting import split_sentences


def sentences(text, language=None):
    return [text[start:end].rstrip() for start, end in split_sentences(text, language)]


def split_at_bars(marked):
    """The expected sentences of a text in which ``|`` marks the boundaries."""
    return [sentence.strip() for sentence in marked.split("|")]


def assert_split(marked, language):
    """``|`` stands before a blank, or alone where the script has no blanks."""
    text = marked.replace("|", "")
    assert sentences(text, language) == split_at_bars(marked)


PIECES = [
    *".!?…。！？．।։؟۔ \n\r\t\"'”»「」()（）aZ7éßя中あ한अ",
    "\r\n",
    "\n\n",
    "Dr",
    "U.S",
    "e\u0301",
]
MIXED_TEXT = st.lists(
    st.sampled_from([*PIECES, "👩‍👩‍👧", "🇩🇪", "‼\ufe0f", "\u00a0", "\u2028", "\u200b", "- ", "3.5"])
    | st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    max_size=60,
).map("".join)


@given(MIXED_TEXT, st.sampled_from([None, "en", "de", "fr", "nl", "es", "zh", "xx"]))
def test_every_character_is_in_exactly_one_sentence(text, language):
    ranges = split_sentences(text, language)
    assert "".join(text[start:end] for start, end in ranges) == text
    position = 0
    for start, end in ranges:
        assert start == position < end
        position = end
    assert position == len(text)


@given(MIXED_TEXT, st.sampled_from([None, "en", "zh"]))
def test_blanks_between_sentences_belong_to_the_first_one(text, language):
    for start, _ in split_sentences(text, language)[1:]:
        assert not text[start].isspace()


@given(MIXED_TEXT)
def test_a_boundary_is_not_inside_a_combined_character(text):
    for start, _ in split_sentences(text)[1:]:
        assert not re.match("[\u0300-\u036f\ufe0f]", text[start]) or text[start - 1].isspace()


def test_a_blank_text_is_one_sentence_and_an_empty_one_none():
    assert split_sentences("") == ()
    assert split_sentences(" \n\n ") == ((0, 4),)


def test_offsets_are_those_of_the_document():
    assert split_sentences("  Ana slept. \r\nTom ran.\n", "en") == ((0, 15), (15, 24))


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("Dr. Ruiz met Mrs. Lee and Gen. Paz.| They ate at St. Mary's.", "en"),
        ("He works at Acme Inc. in Ohio.| It grew.", "en"),
        ("He works at Acme Inc.| The firm grew.", "en"),
        ("The U.S. Senate met at 5 p.m. on Monday.| It voted.", "en"),
        ("They live in the U.S.| They like it.", "en"),
        ("See Fig. 3, No. 7 and p. 12.| No.| Yes.", "en"),
        ("El Sr. Ruiz y la Dra. Paz viven en la Avda. América, núm. 5.| Sí.", "es"),
        ("Los EE. UU. ganaron.| España, p. ej., perdió.", "es"),
        ("Dhr. Jansen en prof. dr. Bos, o.a. uit Gent, zie blz. 4.| Dank u.| Dag!", "nl"),
        ("'t Is koud!| 's Avonds ook.", "nl"),
        ("Frau Dr. Ott kommt z. B. aus Ulm, d. h. bald bzw. morgen.| Gut.", "de"),
        ("Um 50 v. Chr. kam er, vgl. Abb. 3 und S. 7.| Dann ging er.", "de"),
        ("M. Blanc et Mme. Noir, cf. p. 3.| Il dit non.", "fr"),
        ("Vers 50 av. J.-C. César arriva.| J'ai fini.", "fr"),
        ("Mr. Ott, Sra. Paz, Hr. Bos, Prof. Lee.| Und so?", None),
        ("Max. 5 oder ca. 7, bzw. 8 Tage.| Gut.", "de"),
    ],
)
def test_abbreviations_do_not_end_a_sentence(marked, language):
    assert_split(marked, language)


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("J. R. R. Tolkien met C.S. Lewis.| They talked.", "en"),
        ("Plan B failed.| She took vitamin C.| The end.", "en"),
        ("А. С. Пушкин родился в Москве.| Он писал.", "ru"),
        ("P.J. de Vries kwam.| Hij bleef.", "nl"),
    ],
)
def test_initials_do_not_end_a_sentence(marked, language):
    assert_split(marked, language)


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("It cost 3.5 million, i.e. $1,000.50 each.| Too much.", "en"),
        ("It was 1999.| He left.", "en"),
        ("1. Read this.| 2. Write that.", "en"),
        ("Am 3. Mai kam der 2. Brief im 19. Jahrhundert.| Das war 1871.| Gut.", "de"),
        ("Ludwig XIV. und Friedrich II. Barbarossa lebten.| Er ist 20.| Das reicht.", "de"),
        ("Am 3. Mai kam er.| Gut.", None),
        ("Den 3. maj kom 2. Division.| Fint.", "da"),
    ],
)
def test_numbers_and_ordinals_do_not_end_a_sentence(marked, language):
    assert_split(marked, language)


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ('"Why?" asked Ana.| "Because."| She left.', "en"),
        ("‘Go!’ he said.| (It was late.)| “Yes.”| No.", "en"),
        ("« Non ! » dit-il.| « Oui. »| Elle partit.", "fr"),
        ("„Was?“ fragte er.| »Nichts.«| Sie ging.", "de"),
        ('He said : " Yes . "| Then he left .', "en"),
        ("¿Dónde está?| ¡Aquí!| Es la casa (¡qué grande!) de Ana.", "es"),
        ("Die (?) Frage [...] bleibt (!) Offen.| Ja.", "de"),
    ],
)
def test_closing_quotes_and_brackets_belong_to_the_sentence(marked, language):
    assert_split(marked, language)


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("See https://a.org/x.html?y=1.z#a, or mail a.b@c.org.| Thanks.", None),
        ("Visit www.example.com.| Use .NET and Node.js today.| Done.", "en"),
        ("Well... maybe.| Wait…| Then go...| Now!", "en"),
        ("What?!| No way!!!| Yes.", "en"),
        ("I bought an iPhone.| iPads too?| eBay sells them.", "en"),
        ("he came.| she saw it.| who won?| nobody.", "en"),
    ],
)
def test_urls_ellipses_and_runs_of_marks(marked, language):
    assert_split(marked, language)


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("今天很冷。|你好吗？|我很好！|再见。", "zh"),
        ("他说：“我走了。”|然后走了。|“好！”她说。|结束。", "zh"),
        ("「你好。」|（他笑了。）|增长3.5%。|是吗?|我不知道.|好", "zh"),
        ("真的吗？！|是的……不是。", "zh"),
        ("彼は「はい。」と言った。|そして帰った。", "ja"),
        ("그는 갔다.| 나는 왔다.", "ko"),
        ("वह गया।| मैं आया॥| क्यों?| हाँ।", "hi"),
        ("هل أنت هنا؟| نعم.| لا!", "ar"),
        ("یہ کتاب ہے۔| وہ گھر ہے۔", "ur"),
        ("Ես գնացի։| Դու եկար։", "hy"),
        ("ሰላም።| እንዴት ነህ፧| ደህና።", "am"),
        ("សួស្តី។| លាហើយ។", "km"),
        ("མི་ཡིན།| སྐད་ཡིན༎", "bo"),
        ("שלום.| מה שלומך?| טוב.", "he"),
        ("Πού είσαι\u037e| Εδώ.", "el"),
    ],
)
def test_marks_of_other_scripts_end_a_sentence(marked, language):
    assert_split(marked, language)


def test_a_blank_line_ends_a_sentence_and_a_wrapped_line_does_not():
    heading = "A heading without a period\n\n"
    wrapped = "The first line of this paragraph is wrapped at about here\nTom wrote it.\n"
    assert sentences(heading + wrapped) == [heading.strip(), wrapped.strip()]
    assert sentences((heading + wrapped).replace("\n", "\r\n"))[0] == heading.strip()


@pytest.mark.parametrize(
    "text",
    [
        "Berlin (dpa)\nThe minister met the ambassador on Monday in Bonn.",
        "Ana Ruiz\nMain Street 5\nLima",
        "To buy:\n- milk\n- bread",
        "北京\n今天很冷",
    ],
)
def test_a_line_that_is_too_short_to_be_wrapped_ends_a_sentence(text):
    assert sentences(text) == text.split("\n")


def test_very_long_lines_are_not_wrapped():
    line = "A word and another " * 20 + "end"
    assert sentences(f"{line}\n{line}") == [line, line]


def test_a_line_that_starts_with_a_small_letter_continues():
    assert sentences("Tom and\nhis dog ran.") == ["Tom and\nhis dog ran."]


def test_long_runs_of_marks_and_blanks_are_covered():
    for piece in ('. " ', ".", "3.5 ", "a\n", " \n", "”", "... a", "'s ", "! »", ". a ", "。）"):
        text = piece * 5_000
        ranges = split_sentences(text)
        assert ranges[0][0] == 0
        assert ranges[-1][1] == len(text)


def test_language_codes_may_have_a_region():
    assert period_rules("de-AT") == period_rules("de_CH") == period_rules("DE")
