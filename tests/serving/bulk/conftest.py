"""Fixtures of annotation in parts."""

import pytest

from bulk_runs import InThisProcess, made_lines
from metacross.serving.bulk import annotate as annotating


@pytest.fixture
def in_this_process(monkeypatch):
    """Parts are labeled without starting processes."""
    monkeypatch.setattr(annotating, "LocalRunner", InThisProcess)


@pytest.fixture
def text_file(write):
    """60 lines of one sentence each."""
    return write("in.txt", "".join(f"{line}\n" for line in made_lines(60)))
