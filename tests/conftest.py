"""What every test can use."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "true"
os.environ["COLUMNS"] = "120"


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys) -> Callable[..., Outcome]:
    """Run the command line in this process."""
    from metacross.apps.cli import main

    def run_command(*arguments: str | Path) -> Outcome:
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return run_command


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """Write a file in a folder of the test's own."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
