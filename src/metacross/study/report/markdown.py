"""Renders a report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metacross.study.report.blocks import (
    Block,
    Cards,
    Chart,
    Code,
    Collapsible,
    Document,
    Heading,
    Paragraph,
    Table,
)


def markdown_text(document: Document) -> str:
    """The complete report; charts and cards have no Markdown and are left out."""
    parts = [f"# {document.title}", *document.facts]
    for section in document.sections:
        parts += [f"## {section.heading}", *_rendered(section.blocks)]
    return "\n\n".join(parts) + "\n"


def _rendered(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield _table(block)
            case Heading():
                yield f"### {block.text}"
            case Paragraph():
                yield block.text
            case Code():
                yield "\n".join(f"    {line}".rstrip() for line in block.text.splitlines())
            case Collapsible():
                yield f"**{block.summary}**"
                yield from _rendered(block.blocks)
            case Chart() | Cards():
                pass


def _table(table: Table) -> str:
    lines = [_line(table.headings), "|" + "---|" * len(table.headings)]
    for row in table.rows:
        name = f"{row.group}: {row.name}" if row.group else row.name
        values = [name, *(entry.full_text for entry in row.entries)]
        if row.tone == "quoted":
            values = [f"*{value}*" if value else "" for value in values]
        lines.append(_line(values))
    return "\n".join([f"*{table.caption}*", "", *lines])


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"
