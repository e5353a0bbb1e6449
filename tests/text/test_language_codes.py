"""Language codes are checked."""

import pytest

import metacross
from metacross.errors import SettingsError
from metacross.text.language_codes import checked_language, primary_language


@pytest.mark.parametrize(
    "code",
    ["en", "zh", "swa", "yor", "hsb", "zh-Hans", "zh_CN", "pt-BR", "SR-Latn-RS", "ger", "und"],
)
def test_codes_of_languages_are_accepted(code):
    assert checked_language(code) == code


@pytest.mark.parametrize(
    "code", ["xx", "english", "", "e", "qzz", "en-", "zh Hans", "中文", "en-abcdefghi"]
)
def test_other_words_are_refused_in_one_line(code):
    with pytest.raises(SettingsError) as problem:
        checked_language(code)
    assert str(problem.value).startswith("language: expected a language code (ISO 639 or BCP 47)")
    assert repr(code) in str(problem.value)
    assert "\n" not in str(problem.value)


def test_reading_and_predicting_refuse_a_code_that_does_not_exist(write, trained_folder):
    file = write("x.conll", "Ana B-PER\n")
    model = metacross.load(trained_folder, device="cpu")
    for call in (
        lambda: metacross.read_corpus(file, language="english"),
        lambda: model.predict("Ana", language="english"),
        lambda: model.predict_words([["Ana"]], language="english"),
        lambda: model.evaluate(file, language="english"),
    ):
        with pytest.raises(SettingsError, match="found 'english'"):
            call()


def test_commands_refuse_a_code_that_does_not_exist(run, write, tmp_path):
    outcome = run(
        "convert", write("x.conll", "Ana B-PER\n"), tmp_path / "y.jsonl", "--language", "xx"
    )
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "expected a language code (ISO 639 or BCP 47), such as es" in outcome.err


def test_script_and_region_do_not_change_the_language():
    codes = ["zh-Hans", "ZH_tw", "yue", "jpn", "pt-BR", None]
    assert [primary_language(code) for code in codes] == ["zh", "zh", "zh", "ja", "pt", None]
