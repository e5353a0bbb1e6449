"""The difference that adaptation makes and its reasons, on the page in a real browser."""

from page_actions import (
    ADAPTED,
    BANK,
    MADE_UP,
    PLAIN,
    RAIN,
    SPANISH,
    answer_with,
    find_entities,
    marks,
    show,
    shown_texts,
)
from page_browser import BROWSER_TEST

pytestmark = BROWSER_TEST

NO_ENTITY = ()
ORG, LOC = [(3, 9, "ORG", "Bo Cid")], [(3, 9, "LOC", "Bo Cid")]
SHORTER = [(3, 5, "PER", "Bo")]
STATEMENTS = {
    "ORG only with 1 Bank of Rome; without it LOC.": [LOC, ORG, LOC, ORG],
    "“Bo Cid” ORG only with 2 Rain; without it “Bo” PER.": [SHORTER, SHORTER, ORG, ORG],
    "ORG in every case: no neighbor decides it.": [ORG, ORG, ORG, ORG],
    "ORG with either neighbor; with none no entity.": [NO_ENTITY, ORG, ORG, ORG],
    "ORG only with both neighbors together; with none LOC.": [LOC, LOC, LOC, ORG],
    "ORG depends on which neighbors come together.": [ORG, LOC, LOC, ORG],
}


def style(page, selector, name):
    return page.locator(selector).first.evaluate(f"node => getComputedStyle(node).{name}")


def test_the_difference_tells_both_only_adapted_and_only_plain_apart(page):
    answer_with(page)
    find_entities(page, MADE_UP)
    selector = "#document .entity[data-status={}]"
    assert marks(page, selector.format("both")) == [["Al", "PER"]]
    assert marks(page, selector.format("adapted")) == [["Bo Cid", "ORG"], ["Du", "LOC"]]
    assert marks(page, selector.format("plain")) == [["Bo", "ORG"], ["Cid", "PER"], ["Em", "LOC"]]
    assert page.locator("#document s.badge").all_text_contents() == ["ORG"]  # Du, when plain
    assert page.locator("#summary").text_content().endswith("5 changed by adaptation")
    counts = page.locator("#label-legend li").all_text_contents()
    assert counts == ["LOC place × 1", "ORG organization × 1", "PER person × 1"]
    assert style(page, selector.format("both"), "borderStyle") == "solid"
    assert style(page, selector.format("adapted"), "borderStyle") == "dashed"
    assert style(page, selector.format("both") + " .words", "textDecorationLine") == "none"
    assert style(page, selector.format("plain") + " .words", "textDecorationLine") == "line-through"
    show(page, "Plain")
    assert marks(page) == [[text, label] for _, _, label, text in PLAIN]
    assert not page.locator("#status-legend").is_visible()


def test_the_panel_says_which_neighbors_decide(page):
    statements = []
    for cases in STATEMENTS.values():
        pairs = list(zip([[], [0], [1], [0, 1]], cases, strict=True))
        answer_with(page, adapted=ORG, neighbors=[BANK, RAIN], cases=pairs)
        find_entities(page, MADE_UP)
        page.get_by_role("button", name="Bo Cid, ORG").click()
        statements.append(page.locator(".statement").text_content())
    assert statements == [*STATEMENTS]
    rows = page.locator(".counterfactuals tbody tr .set-name").all_text_contents()
    assert rows == ["none", "only 1", "only 2", "both"]


def test_the_panel_shows_what_a_sentence_learned_from(page):
    answer_with(page, neighbors=[BANK, RAIN], cases=[([], PLAIN), ([0, 1], ADAPTED)])
    find_entities(page, MADE_UP)
    page.get_by_role("button", name="Du, LOC").click()
    assert shown_texts(page, ".source") == ["The Bank of Rome rose", "Rain"]
    assert marks(page, ".source .entity") == [["Bank of Rome", "ORG"]]
    assert page.locator(".similarity .number").all_text_contents() == ["0.83", "0.41"]
    assert page.locator(".readings dd").all_text_contents() == ["LOC 0.50", "ORG 0.50"]


def test_a_neighbor_that_was_remembered_is_marked(page):
    corrected = {**BANK, "remembered": "0123456789abcdef"}
    answer_with(page, neighbors=[RAIN, corrected], cases=[([], PLAIN), ([0, 1], ADAPTED)])
    find_entities(page, MADE_UP)
    page.get_by_role("button", name="Du, LOC").click()
    rows = page.locator(".neighbors li")
    assert [row.locator(".remembered").count() for row in rows.all()] == [0, 1]
    assert rows.nth(1).locator(".remembered").text_content() == "remembered correction"


def test_the_panel_shows_the_counterfactuals_of_the_model(page, model):
    find_entities(page, SPANISH, "es")
    page.get_by_role("button", name="rome, LOC").click()
    rows = page.locator(".counterfactuals tbody tr")
    rows.first.wait_for()
    explanation = model.explain("ana viajó a rome. ", language="es")
    assert len(explanation.counterfactuals) == rows.count() == 4
    for row, counterfactual in zip(rows.all(), explanation.counterfactuals, strict=True):
        found = [entity for entity in counterfactual.prediction.entities if entity.text == "rome"]
        expected = [f"{entity.label} {entity.score:.2f}" for entity in found] or ["no entity"]
        assert row.locator("td").text_content() == expected[0]
    sources = [neighbor.sentence.laid_out().text for neighbor in explanation.neighbors]
    assert shown_texts(page, ".source") == sources


def test_a_private_source_shows_only_positions_and_similarities(page):
    private = {"position": 7, "similarity": 0.83, "text": None, "spans": None}
    answer_with(page, adapted=ORG, neighbors=[private], cases=[([], LOC), ([0], ORG)])
    find_entities(page, MADE_UP)
    page.get_by_role("button", name="Bo Cid, ORG").click()
    assert page.locator(".statement").text_content() == "ORG only with neighbor 1; without it LOC."
    assert "Source sentence 7" in page.locator(".neighbors").text_content()
