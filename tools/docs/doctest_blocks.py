"""Shows the examples of docstrings as code blocks on the API page."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Puts every doctest between fences, which Markdown would otherwise take for a quotation."""

    def on_object(self, *, obj: griffe.Object, **_kwargs: Any) -> None:  # noqa: ANN401 - griffe's
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = with_fences(obj.docstring.value)


def with_fences(text: str) -> str:
    r"""The text with a fence around each doctest.

    >>> with_fences("Adds.\n\n>>> 1 + 1\n2").splitlines()
    ['Adds.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    return _EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", text)
