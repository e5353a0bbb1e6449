"""The page in a real browser: keyboard, colors, a small screen, and what can go wrong."""

import json

import pytest

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
    shown_text,
)
from page_browser import BROWSER_TEST, watched_page

pytestmark = BROWSER_TEST


def test_entities_are_reached_and_opened_with_the_keyboard(page):
    answer_with(page, neighbors=[BANK], cases=[([], PLAIN), ([0], ADAPTED)])
    page.get_by_label("Text", exact=True).fill(MADE_UP)
    page.keyboard.press("Control+Enter")
    page.locator("#document .entity").first.wait_for()
    assert page.locator("[aria-live=polite]").text_content().startswith("3 entities in 1 sentence")
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
    page.get_by_label("Text", exact=True).fill("tom " * 20_000)
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


def test_the_policy_of_the_page_allows_only_its_own_server(page, server):
    policy = page.request.get(server.url).headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"


def test_the_text_survives_a_reload(page):
    page.get_by_label("Text", exact=True).fill("¿Y tom? 💩")
    page.reload()
    assert page.get_by_label("Text", exact=True).input_value() == "¿Y tom? 💩"


CONTRASTS = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const painted = (colors, opacity = 1) => {
    for (const [i, color] of colors.entries()) {
      canvas.globalAlpha = i === colors.length - 1 ? opacity : 1;
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
    }
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
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest("option")) continue;
    const layers = [];
    let opacity = 1;
    for (let each = node; each; each = each.parentElement) {
      layers.unshift(getComputedStyle(each).backgroundColor);
      opacity *= getComputedStyle(each).opacity;
    }
    const back = luminance(painted(["white", ...layers]));
    const { color } = getComputedStyle(node);
    const front = luminance(painted(["white", ...layers, color], opacity));
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
    find_entities(page, MADE_UP)
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
