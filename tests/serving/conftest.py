"""Python programs that have metacross installed, with the entry points of ``pyproject.toml``."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """What installing writes, so that the tests do not depend on when that was done."""
    project = ProjectMetadata(str(ROOT), PluginManager())
    folder = tmp_path_factory.mktemp("installed")
    information = folder / f"metacross-{project.version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: metacross\nVersion: {project.version}\n"
    )
    (information / "entry_points.txt").write_text(
        "\n".join(
            line
            for group, entries in project.core.entry_points.items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
        )
    )
    return folder


@pytest.fixture
def run_python(installed, tmp_path) -> Callable[..., str]:
    """Run a program in a process of its own, in an empty folder; gives what it prints."""

    def run(code: str, *arguments: str | Path, threads: int = 1) -> str:
        path = os.pathsep.join([str(installed), str(ROOT / "src")])
        program = tmp_path / "program.py"
        program.write_text(code, "utf-8")
        ended = subprocess.run(
            [sys.executable, str(program), *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)},
            timeout=300,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run
