"""The parts of a report, as HTML or as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TypeAlias

from metacross.study.report.html_pages import scrolling

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in a place of a table. ``markup`` is its HTML, None where the text will do;
    ``heat`` colors the place: how strongly, below 0 in the other color; None: not at all.
    """

    text: str
    markup: str | None = None
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table. Rows with the same ``group`` stand together under it; a ``quiet`` row is
    there to compare with.
    """

    name: str
    entries: tuple[Entry, ...]
    group: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings, the first of which is that of the names."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of a part of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A line or more of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to be copied."""

    text: str


@dataclass(frozen=True, slots=True)
class Markup:
    """HTML that has no counterpart in Markdown."""

    html: str


@dataclass(frozen=True, slots=True)
class Folded:
    """Something that is shown on demand."""

    summary: str
    blocks: tuple[Block, ...]


Block: TypeAlias = "Table | Heading | Paragraph | Code | Markup | Folded"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report that can be linked to. ``style`` is CSS that it needs on a page."""

    anchor: str
    heading: str
    blocks: tuple[Block, ...]
    style: str = ""


def section_html(section: Section) -> str:
    """A section of a page."""
    body = "\n".join(map(_html, section.blocks))
    heading = f'<h2 id="{section.anchor}-heading">{escape(section.heading)}</h2>'
    return (
        f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-heading">'
        f"{heading}\n{body}</section>"
    )


def section_markdown(section: Section) -> str:
    """A section of a Markdown file; what has no Markdown is left out."""
    return "\n\n".join([f"## {section.heading}", *_markdown_of(section.blocks)])


def _html(block: Block) -> str:
    match block:
        case Table():
            return scrolling(block.caption, _table_html(block))
        case Heading():
            return f"<h3>{escape(block.text)}</h3>"
        case Paragraph():
            return f"<p>{escape(block.text)}</p>"
        case Code():
            return scrolling("text to copy", f"<pre><code>{escape(block.text)}</code></pre>")
        case Markup():
            return block.html
        case Folded():
            inner = "\n".join(map(_html, block.blocks))
            return f"<details><summary>{escape(block.summary)}</summary>{inner}</details>"


def _table_html(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in table.headings)
    bodies = []
    for group, rows in groupby(table.rows, key=lambda row: row.group):
        title = (
            f'<tr class="group"><th scope="rowgroup" colspan="{len(table.headings)}">'
            f"{escape(group)}</th></tr>"
            if group
            else ""
        )
        bodies.append(f"<tbody>{title}{''.join(map(_row_html, rows))}</tbody>")
    return (
        f"<table><caption><span>{escape(table.caption)}</span></caption>"
        f"<thead><tr>{head}</tr></thead>{''.join(bodies)}</table>"
    )


def _row_html(row: Row) -> str:
    kind = ' class="beside"' if row.quiet else ""
    entries = "".join(map(_entry_html, row.entries))
    return f'<tr{kind}><th scope="row">{escape(row.name)}</th>{entries}</tr>'


def _entry_html(entry: Entry) -> str:
    content = escape(entry.text) if entry.markup is None else entry.markup
    if entry.heat is None:
        return f"<td>{content}</td>"
    side = "below" if entry.heat < 0 else "above"
    return f'<td class="heat {side}" style="--heat: {100 * abs(entry.heat):.0f}%">{content}</td>'


def _markdown_of(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield _table_markdown(block)
            case Heading():
                yield f"### {block.text}"
            case Paragraph():
                yield block.text
            case Code():
                yield "\n".join(f"    {line}".rstrip() for line in block.text.splitlines())
            case Folded():
                yield f"**{block.summary}**"
                yield from _markdown_of(block.blocks)
            case Markup():
                pass


def _table_markdown(table: Table) -> str:
    lines = [_line(table.headings), "|" + "---|" * len(table.headings)]
    for row in table.rows:
        name = f"{row.group}: {row.name}" if row.group else row.name
        lines.append(_line([name, *(entry.text for entry in row.entries)]))
    return "\n".join([f"*{table.caption}*", "", *lines])


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"
