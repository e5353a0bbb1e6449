"""The program ``metacross`` and its options."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_the_command_runs_as_a_program(write):
    path = write("x.conll", "Ginebra B-LOC\n")
    command = [sys.executable, "-m", "metacross", "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "sentences" in done.stdout


def test_help_lists_the_commands_in_order(run):
    commands = re.findall(r"^│ ([a-z-]+) +[A-Z]", run("--help").out, flags=re.MULTILINE)
    expected = "demo check convert score train evaluate predict annotate neighbors fine-tune"
    expected += (
        " experiment compare baselines translate project serve select remember forget card push"
    )
    assert commands == expected.split()


def test_version_is_printed(run):
    assert run("--version").out.startswith("metacross ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_clear_line(write):
    path = write("x.conll", "Ginebra B-LOC\n")
    command = [sys.executable, "-m", "metacross", "check", str(path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "metacross: the output cannot be written: No space left on device\n"


def test_a_reader_that_leaves_is_no_error_to_report(write):
    path = write("x.conll", "Ginebra B-LOC\n" * 5)
    command = f"{sys.executable} -m metacross check {path} --json | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
