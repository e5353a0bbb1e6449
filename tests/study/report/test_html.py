"""The web page: well-formed, self-contained, accessible, and safe from markup in names."""

import itertools
import random
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from made_up_study import QUALITIES, gold_corpus, made_up_predictions, made_up_study, result_of
from metacross.study.report import write_report
from metacross.study.report.blocks import (
    Card,
    Cards,
    Chart,
    Code,
    Collapsible,
    Document,
    Entry,
    Filter,
    Heading,
    LabeledSentence,
    Line,
    Paragraph,
    Row,
    Section,
    Table,
)
from metacross.study.report.html import html_page
from metacross.study.results import StudyFolder
from metacross.text.sentence import Sentence, Span


class Walker(HTMLParser):
    """Checks that all tags are closed in order; collects tags, references and ids."""

    EMPTY = frozenset({"meta", "br", "input", "line", "circle", "path", "polyline"})

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.references, self.ids = [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.references += [attributes[name] for name in ("src", "href") if name in attributes]
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def walked(page):
    walker = Walker()
    walker.feed(page)
    walker.close()
    assert walker.open == []
    return walker


@pytest.fixture
def page(tmp_path):
    return write_report(made_up_study(tmp_path), "A <made-up> study").read_text()


def test_the_page_is_well_formed_and_loads_nothing(page):
    walker = walked(page)
    assert {tag for tag, _ in walker.tags} & {"script", "link", "img", "iframe"} == set()
    assert "http://" not in page
    assert "https://" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page
    assert "<title>A &lt;made-up&gt; study</title>" in page


def test_links_lead_to_sections(page):
    walker = walked(page)
    assert len(walker.ids) == len({*walker.ids})
    assert {reference.removeprefix("#") for reference in walker.references} <= {*walker.ids}
    assert len(walker.references) == page.count("<section ") == 8


def test_headings_are_in_order_and_tables_can_be_read_aloud(page):
    walker = walked(page)
    levels = [int(tag[1]) for tag, _ in walker.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    n_tables = sum(tag == "table" for tag, _ in walker.tags)
    assert n_tables == sum(tag == "caption" for tag, _ in walker.tags) > 10
    assert all("scope" in attributes for tag, attributes in walker.tags if tag == "th")
    regions = [attributes for _, attributes in walker.tags if attributes.get("role") == "region"]
    assert len(regions) >= n_tables
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions)


def test_cases_can_be_filtered_without_a_script(page):
    walker = walked(page)
    radios = {attributes["id"]: attributes for tag, attributes in walker.tags if tag == "input"}
    languages = {"all-cases-0-all", "all-cases-0-0", "all-cases-0-1"}
    kinds = {"all-cases-1-all", "all-cases-1-0", "all-cases-1-1", "all-cases-1-2"}
    assert {*radios} == languages | kinds
    checked = {name for name, attributes in radios.items() if "checked" in attributes}
    assert checked == {"all-cases-0-0", "all-cases-1-all"}
    assert {attributes["for"] for tag, attributes in walker.tags if tag == "label"} == {*radios}
    for name in (languages | kinds) - {"all-cases-0-all", "all-cases-1-all"}:
        group, option = name.split("-")[-2:]
        hidden = f'article:not([data-filter-{group}="{option}"])'
        assert f"#all-cases:has(#{name}:checked) {hidden} {{ display: none; }}" in page
    articles = [attributes for tag, attributes in walker.tags if tag == "article"]
    assert {article["data-filter-0"] for article in articles} == {"0", "1"}
    assert {article["data-filter-1"] for article in articles} == {"0", "1", "2"}


def test_sentences_have_their_language(page):
    languages = {attributes.get("lang") for tag, attributes in walked(page).tags if tag == "dd"}
    assert languages == {"es", "zh", "en"}


def test_shades_become_background_colors(page):
    entries = re.findall(
        r'<td class="([^"]*\bshaded\b[^"]*)" style="--shade: (\d+)%">([-+]?)\d', page
    )
    scores = [int(shade) for _, shade, sign in entries if not sign]
    assert (min(scores), max(scores)) == (0, 100)
    differences = [(classes, sign) for classes, _, sign in entries if sign]
    assert differences
    assert all(("below" in classes) == (sign == "-") for classes, sign in differences)


def test_every_recipe_is_shown_once_whatever_the_seed(page):
    assert page.count("max_weight: 2.0") == 3
    assert "seed: 1" not in page


MARKUP = """<b>"|x&'"""


def test_names_from_the_results_are_text_not_markup(tmp_path):
    gold = gold_corpus("es")
    predictions = made_up_predictions(gold, QUALITIES["ours"], random.Random(0))
    study = StudyFolder(tmp_path)
    changes = {
        "system": MARKUP,
        "target": MARKUP,
        "machine": MARKUP,
        "labels": (MARKUP,),
        "recipe": {"note": MARKUP},
        "versions": {MARKUP: MARKUP},
    }
    study.add(result_of(gold, predictions, system="a").model_copy(update=changes), [])
    page = write_report(study, MARKUP).read_text()
    walked(page)
    assert "<b>" not in page
    assert page.count("&lt;b&gt;") > 10


def test_no_block_lets_markup_through():
    sentence = LabeledSentence(
        MARKUP, Sentence((MARKUP, MARKUP)), (Span(0, 1, MARKUP),), language=MARKUP
    )
    table = Table(
        MARKUP,
        (MARKUP, MARKUP),
        (Row(MARKUP, (Entry(MARKUP, detail=MARKUP, note=MARKUP),), group=MARKUP),),
        text_columns=frozenset({MARKUP}),
        color_note=MARKUP,
    )
    blocks = (
        table,
        Table(MARKUP, ("", ""), (Row("", (Entry(MARKUP, code=True),)),)),
        Heading(MARKUP),
        Paragraph(MARKUP),
        Code(MARKUP),
        Collapsible(MARKUP, (Paragraph(MARKUP), Collapsible(MARKUP, (Code(MARKUP),)))),
        Chart(MARKUP, MARKUP, MARKUP, MARKUP, (Line(MARKUP, 0, ((0, 1.0), (1, 2.0))),)),
        Cards(
            "cards",
            (Card(MARKUP, (sentence,), verdict=MARKUP, choices=(0,)),),
            (Filter(MARKUP, (MARKUP,)),),
        ),
    )
    page = html_page(Document(MARKUP, (MARKUP,), (Section("some", MARKUP, blocks),)))
    walker = walked(page)
    opened = [attributes for tag, attributes in walker.tags if tag == "b"]
    assert opened == [{}]  # only the label of the entity
    assert page.count("<b>") == 1
    known = {"aria-label", "aria-labelledby", "charset", "checked", "class", "content", "cx", "cy",
             "d", "data-filter-0", "data-label", "dir", "for", "height", "http-equiv", "id", "lang",
             "name", "points", "r", "role", "scope", "colspan", "tabindex", "text-anchor",
             "transform", "type", "viewbox", "x", "x1", "x2", "y", "y1", "y2"}  # fmt: skip
    assert {name for _, attributes in walker.tags for name in attributes} <= known


def test_chinese_words_are_written_without_blanks():
    chinese = Sentence(("王", "明", "说"), (Span(0, 2, "PER"),), "zh")
    labeled = LabeledSentence("gold", chinese, chinese.spans, "zh")
    blocks = (Cards("cards", (Card("a", (labeled,)),)),)
    page = html_page(Document("t", (), (Section("some", "h", blocks),)))
    assert '<mark data-label="PER">王明<b>PER</b></mark>说</dd>' in page


# Colors


def colors(scheme):
    style = resources.files("metacross.study.report").joinpath("report.css").read_text("utf-8")
    light, dark = style.split("@media (prefers-color-scheme: dark)", 1)
    part = light if scheme == "light" else dark.split("/* Text */", 1)[0]
    definitions = re.findall(r"--([\w-]+): #([0-9a-f]{6});", part)
    return {name: [int(value[i : i + 2], 16) for i in (0, 2, 4)] for name, value in definitions}


def luminance(color):
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (v / 255 for v in color)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    """As the Web Content Accessibility Guidelines define it."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("background", ["paper", "above", "below", "per", "loc", "org", "misc"])
def test_text_is_readable_on_every_background(scheme, background):
    palette = colors(scheme)
    assert contrast(palette["ink"], palette[background]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("text", ["muted", "good", "bad", *(f"line-{n}" for n in range(8))])
def test_colored_text_is_readable(scheme, text):
    palette = colors(scheme)
    assert contrast(palette[text], palette["paper"]) >= 4.5
    assert contrast(palette[text], palette["soft"]) >= 4.5
