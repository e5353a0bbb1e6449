"""Builds wheel and sdist and tests the installed wheel: ``python -m tools.package``.

The wheel is installed with all its dependencies into a new virtual environment in a temporary
folder, where the source is not importable. There it checks corpora, trains, predicts, runs the demo
and some of the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tools.package.contents import check_sdist, check_wheel

ROOT = Path(__file__).parents[2]
TESTS = [
    "conftest.py",
    "tiny.py",
    "test_settings.py",
    "text",
    "metrics/test_significance.py",
    "model/test_model_folder.py",
]
SEGMENTERS = ["pythainlp", "sudachidict-small", "sudachipy"]  # the tests of text cut ja and th too
TEST_PACKAGES = ["hypothesis", "pyarrow", "pytest", "pytest-socket", "pytest-timeout", *SEGMENTERS]
TRAINING = ["--set", "meta.steps=2", "--set", "meta.tasks_per_step=2"]


def main() -> None:
    """Build, look inside, install, use, test."""
    output = ROOT / "dist"
    shutil.rmtree(output, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output)]
    _run([*build, str(ROOT)], ROOT)
    (wheel,) = output.glob("*.whl")
    (sdist,) = output.glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
    with tempfile.TemporaryDirectory(prefix="metacross-package-") as folder:
        python = _installed(wheel, Path(folder))
        _use(python, Path(folder))
        _test(python, Path(folder))
    _say(f"{wheel.name} and {sdist.name} work without the repository.")


def _installed(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment with the wheel and what it depends on."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*install, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], folder)
    _run([*install, "--constraint", str(ROOT / "constraints.txt"), *TEST_PACKAGES], folder)
    return python


def _use(python: Path, folder: Path) -> None:
    where = "import metacross, pathlib; print(pathlib.Path(metacross.__file__).parent)"
    package = Path(_run([str(python), "-c", where], folder).strip())
    if not package.is_relative_to(folder):
        raise SystemExit(f"expected metacross inside {folder}, found {package}")
    metacross = str(python.parent / "metacross")
    corpus = package / "assets" / "corpus"
    train, dev, test = (str(corpus / f"{name}.conll") for name in ("en.train", "en.dev", "es.test"))
    _say(_run([metacross, "--version"], folder).strip())
    _run([metacross, "check", train, dev, test], folder)
    arguments = ["--source", train, "--dev", dev, "--output", "model", *TRAINING]
    _run([metacross, "train", "mini", *arguments], folder)
    (folder / "text.txt").write_text("Ana García trabaja en Madrid.\n", "utf-8")
    predicted = _run([metacross, "predict", "model", "text.txt", "--to", "jsonl"], folder)
    if '"neighbors"' not in predicted:
        raise SystemExit(f"expected a prediction with neighbors, found {predicted!r}")
    _say(_run([metacross, "demo"], folder).strip())
    if not (folder / "demo" / "report.html").exists():
        raise SystemExit("expected the demo to write demo/report.html, found none")


def _test(python: Path, folder: Path) -> None:
    tests = folder / "tests"
    for name in TESTS:
        source, target = ROOT / "tests" / name, tests / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = tests\nmarkers = slow\n", "utf-8")
    options = ["-q", "--allow-hosts=127.0.0.1,::1", "--import-mode=importlib", "-m", "not slow"]
    printed = _run([str(python), "-m", "pytest", *options, "tests"], folder)
    _say(printed.strip().splitlines()[-1])


def _run(command: list[str], folder: Path) -> str:
    """Standard output of a command; ends the program if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "METACROSS_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        last_lines = "\n".join([*ended.stdout.splitlines()[-40:], *ended.stderr.splitlines()[-40:]])
        raise SystemExit(f"{' '.join(command)} failed:\n{last_lines}")
    return ended.stdout


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
