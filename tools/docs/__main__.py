"""Writes the reference pages: ``python -m tools.docs``.

``python -m tools.docs output`` also runs the Python code of the README, the tutorial and some
how-tos, and writes what it prints below it; file names after ``output`` choose pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.docs.command_page import command_page
from tools.docs.printed_output import refreshed
from tools.docs.settings_page import settings_page

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES_WITH_OUTPUT = (
    ROOT / "README.md",
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "labeling.md",
    ROOT / "docs" / "how-to" / "spacy.md",
    ROOT / "docs" / "how-to" / "hugging-face.md",
    ROOT / "docs" / "how-to" / "share.md",
    ROOT / "docs" / "how-to" / "annotate.md",
)


def main(arguments: list[str]) -> None:
    """Write the pages."""
    (REFERENCE / "commands.md").write_text(command_page(), "utf-8")
    (REFERENCE / "settings.md").write_text(settings_page(), "utf-8")
    if arguments[:1] == ["output"]:
        named = {Path(name).resolve() for name in arguments[1:]}
        for page in PAGES_WITH_OUTPUT:
            if not named or page in named:
                page.write_text(refreshed(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
