"""Writes measured tables into the page about the server."""

from __future__ import annotations

import re
from pathlib import Path

from metacross.text.writing import write_atomically

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "serve.md"


def write_block(name: str, table: str, page: Path = PAGE) -> None:
    """Replace what is between ``<!-- measured: NAME -->`` and ``<!-- end -->``."""
    begin, end = f"<!-- measured: {name} -->\n", "<!-- end -->\n"
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{page}: expected {begin.strip()} and {end.strip()}, found none")
    write_atomically(page, [pattern.sub(lambda _: f"\n{table}\n\n", text, count=1)])
