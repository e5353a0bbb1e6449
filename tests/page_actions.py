"""What tests do on the page, what they read from it, and answers made up for it."""

SPANISH = "ana viajó a rome. ¿Y tom? Se quedó en oslo, dijo eva.\n\nlea volvió a lima."
MADE_UP = "Al Bo Cid Du Em"
ADAPTED = [(0, 2, "PER", "Al"), (3, 9, "ORG", "Bo Cid"), (10, 12, "LOC", "Du")]
PLAIN = [(0, 2, "PER", "Al"), (3, 5, "ORG", "Bo"), (6, 9, "PER", "Cid"), (10, 12, "ORG", "Du"),
         (13, 15, "LOC", "Em")]  # fmt: skip
BANK = {"position": 7, "similarity": 0.83, "text": "The Bank of Rome rose", "spans": [
    {"start_char": 4, "end_char": 16, "label": "ORG"}]}  # fmt: skip
RAIN = {"position": 9, "similarity": 0.41, "text": "Rain", "spans": []}


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


def shown_texts(page, selector="#document"):
    """What elements read without the labels of their entities."""
    return page.locator(selector).evaluate_all(
        "nodes => nodes.map(node => { const copy = node.cloneNode(true);"
        " copy.querySelectorAll('.badge').forEach(badge => badge.remove());"
        " return copy.textContent; })"
    )


def shown_text(page):
    """What the text with its entities reads."""
    (text,) = shown_texts(page)
    return text


def entities_of(prediction):
    return [[entity.text, entity.label] for entity in prediction.entities]


def answer_with(page, adapted=ADAPTED, plain=PLAIN, neighbors=(), cases=()):
    """Let the server answer with made-up entities of the sentence ``Al Bo Cid Du Em``.

    ``cases`` are pairs of the neighbors that are used and the entities that they give.
    """

    def entities(spans):
        return [
            {"start": start, "end": end, "label": label, "text": text, "score": 0.5, "sentence": 0}
            for start, end, label, text in spans
        ]

    words = [[0, 2], [3, 5], [6, 9], [10, 12], [13, 15]]
    sentence = {"start": 0, "end": 15, "windows": 1, "adapted": True, "words": words}
    result = {
        "text": MADE_UP,
        "entities": entities(adapted),
        "plain_entities": entities(plain),
        "sentences": [{**sentence, "neighbors": list(neighbors)}],
    }
    answer = {"model": {"name": "x", "version": "1"}, "results": [result]}
    page.route("**/v1/predict", lambda route: route.fulfill(json=answer))
    counterfactuals = [{"used": used, "entities": entities(spans)} for used, spans in cases]
    why = {"neighbors": list(neighbors), "counterfactuals": counterfactuals, "entities": []}
    page.route("**/v1/why", lambda route: route.fulfill(json=why))
