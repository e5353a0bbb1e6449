"""Renders a report as one web page without scripts, which loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined

from metacross.study.report.blocks import Block, Cards, Collapsible, Document, Row, Table
from metacross.study.report.line_chart import layout


def html_page(document: Document) -> str:
    """A complete page. All texts of the document are escaped by the templates."""
    cards = [block for section in document.sections for block in _all_cards(section.blocks)]
    style = resources.files(__package__).joinpath("report.css").read_text("utf-8")
    page = _templates().get_template("page.html.jinja")
    return page.render(document=document, cards=cards, style=style) + "\n"


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["template"] = _template_of
    templates.filters["row_groups"] = _row_groups
    templates.filters["layout"] = layout
    return templates


def _template_of(block: Block) -> str:
    """The template of a block has the name of its class.

    >>> from metacross.study.report.blocks import Paragraph
    >>> _template_of(Paragraph("some text"))
    'paragraph.html.jinja'
    """
    return f"{type(block).__name__.lower()}.html.jinja"


def _row_groups(table: Table) -> list[tuple[str, list[Row]]]:
    return [(group, list(rows)) for group, rows in groupby(table.rows, key=lambda row: row.group)]


def _all_cards(blocks: Iterable[Block]) -> Iterator[Cards]:
    for block in blocks:
        if isinstance(block, Cards):
            yield block
        elif isinstance(block, Collapsible):
            yield from _all_cards(block.blocks)
