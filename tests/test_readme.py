"""The README and the pages for beginners show what the program prints."""

from pathlib import Path

import pytest

from tools.docs.printed_output import code_blocks, page_folder, same_output

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/labeling.md",
    "docs/how-to/own-data.md",
    "docs/how-to/low-resource.md",
    "docs/how-to/spacy.md",
    "docs/how-to/hugging-face.md",
    "docs/how-to/share.md",
    "docs/how-to/annotate.md",
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page):
    """``python -m tools.docs output`` writes the output into the pages."""
    blocks = code_blocks((ROOT / page).read_text("utf-8"))
    assert blocks
    with page_folder() as run:
        for block in blocks:
            printed = run(block)
            if block.expected is not None:
                assert same_output(printed, block.expected), f"{block.code}\nprinted:\n{printed}"


def test_the_readme_shows_output():
    blocks = code_blocks((ROOT / "README.md").read_text("utf-8"))
    assert any(block.expected and block.expected.strip() for block in blocks)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_outputs_differ_if_a_word_or_a_number_differs():
    assert same_output("F1 0.52\n", "F1  0.53")
    assert not same_output("F1 0.52", "F1 0.62")
    assert not same_output("F1 0.52", "F2 0.52")
    assert not same_output("F1 0.52 0.5", "F1 0.52")
