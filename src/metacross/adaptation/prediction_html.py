"""Shows the entities of a text as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_COLORS = {"PER": "#b7e4b0", "LOC": "#a9dcec", "ORG": "#f3dc8f", "MISC": "#e5b9e8"}
_OTHER_COLOR = "#d9d9d9"


def html_of_entities(text: str, entities: Iterable[tuple[int, int, str]]) -> str:
    """The text with each entity, given as start, end and label, in a colored box.

    >>> html_of_entities("in Rome", [(3, 7, "LOC")]).count("<mark")
    1
    """
    parts, position = [], 0
    for start, end, label in entities:
        parts.append(escape(text[position:start]))
        color = _COLORS.get(label, _OTHER_COLOR)
        parts.append(
            f'<mark style="background:{color};color:#111;border-radius:.3em;padding:.1em .3em">'
            f"{escape(text[start:end])} "
            f'<small style="font-weight:bold">{escape(label)}</small></mark>'
        )
        position = end
    parts.append(escape(text[position:]))
    return f'<div style="line-height:2;white-space:pre-wrap" dir="auto">{"".join(parts)}</div>'
