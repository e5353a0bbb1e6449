"""The scripts in ``examples`` run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs.printed_output import write_example_files

EXAMPLES = Path(__file__).parent.parent / "examples"


def printed_by(script: str, *arguments: str, folder: Path) -> str:
    command = [sys.executable, str(EXAMPLES / script), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_the_quick_start_trains_predicts_and_evaluates(tmp_path):
    printed = printed_by("quick_start.py", "--steps", "2", folder=tmp_path)
    assert "Trained for LOC, MISC, ORG, PER." in printed
    assert printed.count("adapted to (") == 2
    assert "Spanish F1, adapted: " in printed


@pytest.mark.slow
def test_own_data_trains_saves_and_labels_raw_text(tmp_path):
    write_example_files(tmp_path)
    files = ["en/train.conll", "en/dev.conll", "es/test.conll", "text.txt"]
    printed = printed_by("own_data.py", *files, "--steps", "2", folder=tmp_path)
    assert "500 sentences" in printed
    assert "F1 adapted " in printed
    for line in (tmp_path / "text.txt").read_text("utf-8").splitlines():
        assert line in printed
    assert (tmp_path / "models" / "own" / "metacross.json").exists()


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"quick_start.py", "own_data.py"}
