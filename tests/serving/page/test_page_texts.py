"""Texts on the page in a real browser: what the model finds in them, what can be copied."""

import json

import pytest

import metacross
from page_actions import SPANISH, entities_of, find_entities, marks, show, shown_text
from page_browser import BROWSER_TEST, watched_page

pytestmark = BROWSER_TEST

TEXTS = {
    "es": SPANISH,
    "zh": "昨天 ana 在 rome 见到 tom 。他们去了 oslo ！",
    "ar": "سافرت ana إلى rome يوم الاثنين. بقي tom في oslo.",
    "en": "💩ana 👩‍👩‍👧‍👦 went to rome 🇪🇸 and saw tom. 🎉 eva!",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_page_marks_what_the_model_predicts(page, model, language):
    text = TEXTS[language]
    find_entities(page, text, language)
    for view, adapt in [("Adapted", True), ("Plain", False)]:
        show(page, view)
        expected = entities_of(model.predict(text, language=language, adapt=adapt))
        assert expected
        assert marks(page) == expected
        assert shown_text(page) == text


def test_markup_in_a_text_is_shown_and_never_run(page, model):
    text = "<script>document.title = 'run'</script> <img src=x onerror=alert(1)> ana & tom &amp;"
    find_entities(page, text)
    show(page, "Adapted")
    assert shown_text(page) == text
    assert page.locator("#document script, #document img").count() == 0
    assert page.title() == "metacross"


def test_a_document_of_50_sentences_is_labeled_sentence_by_sentence(page, model):
    sentences = [f"tom number {i} saw rome and the old eva." for i in range(50)]
    text = " ".join(sentences)
    find_entities(page, text, "en")
    show(page, "Adapted")
    assert page.locator("#document .sentence").all_text_contents() != sentences  # labels are inside
    assert page.locator("#document .sentence").count() == 50
    assert marks(page) == entities_of(model.predict(text, language="en", adapt=True))
    assert shown_text(page) == text


def test_the_language_is_guessed_by_script(page):
    languages = {
        "昨天很冷": "zh",
        "東京へ行く": "ja",
        "إلى القاهرة": "ar",
        "в Казань": "ru",
        "ana 在 rome": None,
        "en Lima": None,
        "123 💩": None,
        "": None,
    }
    guess = (
        "async texts => { const { guessedLanguage } = await import('/page/languages.js');"
        " return texts.map(guessedLanguage); }"
    )
    assert page.evaluate(guess, [*languages]) == [*languages.values()]
    page.get_by_label("Text", exact=True).fill("昨天很冷")
    assert page.locator("#guess").text_content() == "Guessed: Chinese"


def test_an_example_is_labeled_in_its_language(page):
    for button in page.locator(".example").all():
        with page.expect_response("**/v1/predict") as response:
            button.click()
        page.locator("#result[aria-busy='false']").wait_for()
        request = json.loads(response.value.request.post_data)
        assert request["language"] == button.get_attribute("lang")
        assert shown_text(page).startswith(request["texts"][0][:10])
        assert response.value.status == 200


def test_what_is_copied_can_be_read_again(browser, server, model, write):
    with watched_page(
        browser, server.url, permissions=["clipboard-read", "clipboard-write"]
    ) as page:
        find_entities(page, SPANISH, "es")
        copied = {}
        for name in ("Copy CoNLL", "Copy JSON"):
            page.get_by_role("button", name=name).click()
            page.get_by_role("button", name="Copied").wait_for()
            copied[name] = page.evaluate("navigator.clipboard.readText()")
            page.get_by_role("button", name=name).wait_for()
    prediction = model.predict(SPANISH, language="es", adapt=True)
    corpus = metacross.read_corpus(write("copied.conll", copied["Copy CoNLL"]), language="es")
    labeled = [sentence.labeled for sentence in prediction.sentences]
    assert [(s.words, s.spans) for s in corpus] == [(s.words, s.spans) for s in labeled]
    entities = json.loads(copied["Copy JSON"])["entities"]
    assert [[entity["text"], entity["label"]] for entity in entities] == entities_of(prediction)
    assert all(SPANISH[entity["start"] : entity["end"]] == entity["text"] for entity in entities)
