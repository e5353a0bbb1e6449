"""The page in a real browser. Every test also fails on a console error or an outside request."""

import json
import socket
import threading

import pytest

import metacross
import tiny
from page_browser import CHROMIUM, running_browser, watched_page

pytest.importorskip("playwright", reason="playwright is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra server is not installed")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium"),
    pytest.mark.slow,
]

STRONG = {"adaptation": {"learning_rate": 0.03}}
"""So strong that the tiny model labels differently after adaptation."""
MAX_CHARACTERS = 20_000
SPANISH = "ana viajó a rome. ¿Y tom? Se quedó en oslo, dijo eva.\n\nlea volvió a lima."
TEXTS = {
    "es": SPANISH,
    "zh": "昨天 ana 在 rome 见到 tom 。他们去了 oslo ！",
    "ar": "سافرت ana إلى rome يوم الاثنين. بقي tom في oslo.",
    "en": "💩ana 👩‍👩‍👧‍👦 went to rome 🇪🇸 and saw tom. 🎉 eva!",
}


# A server, a model that gives what it should give, and a browser


class Server:
    """A server in a thread, which can be stopped and started again at the same address."""

    def __init__(self, folder):
        from metacross.serving.limits import Limits
        from metacross.serving.options import ServerOptions
        from metacross.serving.served_model import ServedModel

        self._served = ServedModel.in_folder(folder, device="cpu", overrides=STRONG)
        self._options = ServerOptions(limits=Limits(max_characters=MAX_CHARACTERS))
        self._port = 0
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}/"

    def start(self):
        from metacross.serving.app import create_app

        self._socket = socket.create_server(("127.0.0.1", self._port))
        self._port = self._socket.getsockname()[1]
        app = create_app(self._served, self._options)
        self._uvicorn = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        self._thread = threading.Thread(target=self._uvicorn.run, args=([self._socket],))
        self._thread.start()

    def stop(self):
        self._uvicorn.should_exit = True
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="module")
def folder(encoders, tmp_path_factory):
    """A tiny model that knows its names and places."""
    folder = tmp_path_factory.mktemp("models") / "names"
    settings = [*tiny.FAST, "run.method=direct", "direct.steps=100", "run.validate_every=100"]
    metacross.train(
        tiny.corpus(60),
        dev=tiny.corpus(10, seed=1),
        encoder=encoders["bert"],
        recipe=metacross.load_settings("paper", settings),
        output=folder,
    )
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = Server(folder)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def model(folder):
    return metacross.load(folder, device="cpu", **STRONG)


@pytest.fixture(scope="module")
def browser():
    with running_browser() as browser:
        yield browser


@pytest.fixture
def page(browser, server):
    with watched_page(browser, server.url) as page:
        yield page


def find_entities(page, text, language=""):
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_label("Language").select_option(language)
    page.get_by_role("button", name="Find entities").click()
    page.locator("#result[aria-busy='false']").wait_for()


def show(page, view):
    page.locator("#views").get_by_text(view).click()


def marks(page, selector="#document .entity"):
    """The words and labels of marked entities."""
    return page.locator(selector).evaluate_all(
        "marks => marks.map(mark => [mark.querySelector('.words').textContent, mark.dataset.label])"
    )


def shown_text(page):
    """What the text reads without the labels of its entities."""
    return page.locator("#document").evaluate(
        "node => { const copy = node.cloneNode(true);"
        " copy.querySelectorAll('.badge').forEach(badge => badge.remove());"
        " return copy.textContent; }"
    )


def entities_of(prediction):
    return [[entity.text, entity.label] for entity in prediction.entities]


# Texts


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


# The difference

ADAPTED = [(0, 2, "PER", "Al"), (3, 9, "ORG", "Bo Cid"), (10, 12, "LOC", "Du")]
PLAIN = [(0, 2, "PER", "Al"), (3, 5, "ORG", "Bo"), (6, 9, "PER", "Cid"), (10, 12, "ORG", "Du"),
         (13, 15, "LOC", "Em")]  # fmt: skip


def answer_with(page, adapted=ADAPTED, plain=PLAIN, neighbors=(), **reasons):
    """Let the server answer with made-up entities of the sentence ``Al Bo Cid Du Em``."""

    def entities(spans):
        return [
            {"start": start, "end": end, "label": label, "text": text, "score": 0.5, "sentence": 0}
            for start, end, label, text in spans
        ]

    words = [[0, 2], [3, 5], [6, 9], [10, 12], [13, 15]]
    sentence = {"start": 0, "end": 15, "windows": 1, "adapted": True, "words": words}
    result = {
        "text": "Al Bo Cid Du Em",
        "entities": entities(adapted),
        "plain_entities": entities(plain),
        "sentences": [{**sentence, "neighbors": list(neighbors)}],
    }
    answer = {"model": {"name": "x", "version": "1"}, "results": [result]}
    page.route("**/v1/predict", lambda route: route.fulfill(json=answer))
    counterfactuals = [
        {"used": used, "entities": entities(spans)} for used, spans in reasons.get("cases", ())
    ]
    why = {"neighbors": list(neighbors), "counterfactuals": counterfactuals, "entities": []}
    page.route("**/v1/why", lambda route: route.fulfill(json=why))


def test_the_difference_tells_both_only_adapted_and_only_plain_apart(page):
    answer_with(page)
    find_entities(page, "Al Bo Cid Du Em")
    selector = "#document .entity[data-status={}]"
    assert marks(page, selector.format("both")) == [["Al", "PER"]]
    assert marks(page, selector.format("adapted")) == [["Bo Cid", "ORG"], ["Du", "LOC"]]
    assert marks(page, selector.format("plain")) == [["Bo", "ORG"], ["Cid", "PER"], ["Em", "LOC"]]
    assert page.locator("#document s.badge").all_text_contents() == ["ORG"]  # Du, when plain
    assert page.locator("#summary").text_content().endswith("5 changed by adaptation")
    styles = {
        status: page.locator(selector.format(status)).first.evaluate(
            "mark => [getComputedStyle(mark).borderStyle, getComputedStyle(mark).textDecorationLine]"
        )
        for status in ("both", "adapted", "plain")
    }
    assert styles["both"] == ["solid", "none"]
    assert styles["adapted"] == ["dashed", "none"]
    assert styles["plain"][1] == "line-through"
    show(page, "Plain")
    assert marks(page) == [[text, label] for _, _, label, text in PLAIN]
    assert not page.locator("#status-legend").is_visible()


# Why

BANK = {"position": 7, "similarity": 0.83, "text": "The Bank of Rome rose", "spans": [
    {"start_char": 4, "end_char": 16, "label": "ORG"}]}  # fmt: skip
RAIN = {"position": 9, "similarity": 0.41, "text": "Rain", "spans": []}
NO_ENTITY = ()
ORG, LOC = [(3, 9, "ORG", "Bo Cid")], [(3, 9, "LOC", "Bo Cid")]
SHORTER = [(3, 5, "PER", "Bo")]
STATEMENTS = {
    "ORG only with 1 Bank of Rome; without it LOC.": [LOC, ORG, LOC, ORG],
    "ORG only with 2 Rain; without it “Bo” PER.": [SHORTER, SHORTER, ORG, ORG],
    "ORG in every case: no neighbor decides it.": [ORG, ORG, ORG, ORG],
    "ORG with either neighbor; with none no entity.": [NO_ENTITY, ORG, ORG, ORG],
    "ORG only with both neighbors together; with none LOC.": [LOC, LOC, LOC, ORG],
    "ORG depends on which neighbors come together.": [ORG, LOC, LOC, ORG],
}


@pytest.mark.parametrize(("statement", "cases"), STATEMENTS.items())
def test_the_panel_says_which_neighbors_decide(page, statement, cases):
    used = [[], [0], [1], [0, 1]]
    answer_with(
        page, adapted=ORG, neighbors=[BANK, RAIN], cases=list(zip(used, cases, strict=True))
    )
    find_entities(page, "Al Bo Cid Du Em")
    page.get_by_role("button", name="Bo Cid, ORG").click()
    assert page.locator(".statement").text_content() == statement
    rows = page.locator(".counterfactuals tbody tr .set-name").all_text_contents()
    assert rows == ["none", "only 1", "only 2", "both"]
    assert page.locator(".source").all_text_contents() == ["The Bank of RomeORG rose", "Rain"]
    assert marks(page, ".source .entity") == [["Bank of Rome", "ORG"]]
    assert page.locator(".similarity .number").all_text_contents() == ["0.83", "0.41"]


def test_the_panel_shows_the_counterfactuals_of_the_model(page, model):
    find_entities(page, SPANISH, "es")
    page.get_by_role("button", name="rome, LOC").click()
    page.locator(".counterfactuals").wait_for()
    sentence = model.predict(SPANISH, language="es", adapt=True).sentences[0]
    sources = [" ".join(neighbor.sentence.words) for neighbor in sentence.neighbors]
    assert (
        page.locator(".source").evaluate_all(
            "nodes => nodes.map(node => { const copy = node.cloneNode(true);"
            " copy.querySelectorAll('.badge').forEach(badge => badge.remove());"
            " return copy.textContent; })"
        )
        == sources
    )
    both = page.locator(".counterfactuals tbody tr").last
    (rome,) = [entity for entity in sentence.entities if entity.text == "rome"]
    assert both.locator(".number").text_content() == f"{rome.score:.2f}"


def test_a_private_source_shows_only_positions_and_similarities(page):
    private = {"position": 7, "similarity": 0.83, "text": None, "spans": None}
    answer_with(page, adapted=ORG, neighbors=[private], cases=[([], LOC), ([0], ORG)])
    find_entities(page, "Al Bo Cid Du Em")
    page.get_by_role("button", name="Bo Cid, ORG").click()
    assert page.locator(".statement").text_content() == "ORG only with neighbor 1; without it LOC."
    assert "Source sentence 7" in page.locator(".neighbors").text_content()


# Use without a mouse, copying


def test_entities_are_reached_and_opened_with_the_keyboard(page):
    answer_with(page, neighbors=[BANK], cases=[([], PLAIN), ([0], ADAPTED)])
    page.get_by_label("Text", exact=True).fill("Al Bo Cid Du Em")
    page.keyboard.press("Control+Enter")
    page.locator("#document .entity").first.wait_for()
    page.get_by_label("Difference").focus()
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    assert focused.get_attribute("aria-label") == "Al, PER"
    page.keyboard.press("ArrowRight")
    assert focused.get_attribute("aria-label") == "Bo Cid, ORG, only with adaptation"
    page.keyboard.press("End")
    assert focused.get_attribute("aria-label") == "Em, LOC, only without adaptation"
    page.keyboard.press("Enter")
    assert page.locator("#panel h2:visible").text_content() == "Em"
    assert focused.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert page.locator("#panel .panel-empty").is_visible()
    assert focused.get_attribute("aria-label") == "Em, LOC, only without adaptation"


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


# When something goes wrong


def test_when_the_server_stops_the_page_says_so_and_keeps_the_text(page, server):
    find_entities(page, SPANISH, "es")
    before = marks(page)
    server.stop()
    try:
        page.get_by_label("Text", exact=True).fill(SPANISH + " ana")
        page.get_by_role("button", name="Find entities").click()
        message = page.get_by_role("alert").text_content()
        assert message.startswith("The server does not answer. Your text is kept here")
        assert page.get_by_label("Text", exact=True).input_value() == SPANISH + " ana"
        assert marks(page) == before
    finally:
        server.start()
    page.get_by_role("button", name="Find entities").click()
    page.locator("#result:not(.outdated)").wait_for()
    assert shown_text(page).endswith("ana")
    assert not page.get_by_role("alert").is_visible()


def test_an_error_of_the_server_is_one_line(page):
    find_entities(page, SPANISH, "es")
    page.get_by_label("Text", exact=True).fill("tom " * MAX_CHARACTERS)
    page.get_by_role("button", name="Find entities").click()
    message = page.get_by_role("alert").text_content()
    assert message == (
        "The server answered: expected at most 20,000 characters, found 80,000; "
        "send the text in parts"
    )
    page.get_by_label("Text", exact=True).fill(" ")
    page.get_by_role("button", name="Find entities").click()
    assert "paste a text first" in page.get_by_role("alert").text_content()


def test_a_server_with_a_token_asks_for_it(page):
    def answer(route):
        if route.request.headers.get("authorization") == "Bearer secret":
            route.continue_()
        else:
            error = {"code": "wrong_token", "message": "expected a token", "where": "Authorization"}
            route.fulfill(status=401, json={"error": error})

    page.route("**/v1/**", answer)
    page.reload()
    page.get_by_label("Token of this server").fill("secret")
    find_entities(page, SPANISH, "es")
    assert marks(page)


def test_a_model_without_source_sentences_shows_one_reading(page):
    described = {"name": "x", "can_adapt": False, "neighbors": 0, "source_sentences": 0}
    page.route("**/v1/model", lambda route: route.fulfill(json=described))
    page.reload()
    with page.expect_request("**/v1/predict") as request:
        find_entities(page, SPANISH, "es")
    assert "compare" not in json.loads(request.value.post_data)
    assert not page.locator("#views").is_visible()
    page.locator("#document .entity").first.click()
    assert page.locator(".readings dt").all_text_contents() == ["Score"]


def test_the_text_survives_a_reload(page):
    page.get_by_label("Text", exact=True).fill("¿Y tom? 💩")
    page.reload()
    assert page.get_by_label("Text", exact=True).input_value() == "¿Y tom? 💩"


# Looks

CONTRASTS = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const painted = (colors) => {
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map(
      (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const worst = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest("option")) continue;
    const layers = [];
    for (let each = node; each; each = each.parentElement) {
      layers.unshift(getComputedStyle(each).backgroundColor);
    }
    const back = luminance(painted(["white", ...layers]));
    const front = luminance(painted(["white", ...layers, getComputedStyle(node).color]));
    const [dark, light] = [front, back].sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) worst[walker.currentNode.data.trim()] = contrast;
  }
  return worst;
}"""


def open_panel(page):
    answer_with(
        page, neighbors=[BANK, RAIN], cases=[([], PLAIN), ([0], ADAPTED), ([0, 1], ADAPTED)]
    )
    find_entities(page, "Al Bo Cid Du Em")
    page.get_by_role("button", name="Bo Cid, ORG").click()
    page.locator(".counterfactuals").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_the_contrast_of_wcag_aa(browser, server, scheme):
    with watched_page(browser, server.url, color_scheme=scheme) as page:
        open_panel(page)
        assert page.evaluate(CONTRASTS) == {}


def test_the_theme_follows_the_system_until_it_is_switched(browser, server):
    with watched_page(browser, server.url, color_scheme="dark") as page:
        back = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(back)
        page.emulate_media(color_scheme="light")
        light = page.evaluate(back)
        assert light != dark
        page.get_by_role("button", name="Dark mode").click()
        assert page.evaluate(back) == dark
        page.reload()
        assert page.evaluate(back) == dark
        assert page.get_by_role("button", name="Dark mode").get_attribute("aria-pressed") == "true"


def test_nothing_is_wider_than_a_phone(browser, server):
    with watched_page(browser, server.url, viewport={"width": 360, "height": 740}) as page:
        find_entities(page, "tom " + "x" * 300 + " " + SPANISH)
        page.locator("#document .entity").first.click()
        page.locator(".counterfactuals").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        entity = page.locator("#document .entity[aria-pressed=true]").bounding_box()
        sheet = page.locator("#panel").bounding_box()
        assert entity["y"] + entity["height"] <= sheet["y"]
