"""The program ``metacross`` and its options."""

import re
import subprocess
import sys


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
