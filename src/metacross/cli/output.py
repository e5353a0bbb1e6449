"""Prints results, JSON and errors to the terminal."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console, RenderableType

from metacross.errors import MetacrossError


def show(renderable: RenderableType) -> None:
    """Print a table or a text with rich's markup."""
    Console(highlight=False).print(renderable)


def show_plain(text: str) -> None:
    """Print a text as it is, however wide."""
    Console(highlight=False).print(text, markup=False, soft_wrap=True)


def show_json(value: Any) -> None:  # noqa: ANN401 - anything that JSON can hold
    """Print a value as JSON."""
    show_plain(json.dumps(value, ensure_ascii=False, indent=2))


def show_note(text: str) -> None:
    """Print a remark to the standard error stream."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True, style="dim")


def show_error(error: MetacrossError) -> None:
    """Print an error as one line to the standard error stream."""
    line = "".join(c if c.isprintable() else " " for c in f"metacross: {error}")
    Console(stderr=True, highlight=False).print(line, markup=False, soft_wrap=True, style="red")
