"""The wheel and the sdist hold what they should."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.package.contents import check_sdist, check_wheel, package_files

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output), str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return output


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(packages):
    (wheel,) = packages.glob("*.whl")
    check_wheel(wheel)


@pytest.mark.slow
def test_the_sdist_holds_what_the_wheel_is_made_of(packages):
    (sdist,) = packages.glob("*.tar.gz")
    check_sdist(sdist)


def test_the_package_has_its_data():
    files = package_files()
    for name in ("py.typed", "recipes/paper.yaml", "studies/zero-shot.yaml"):
        assert f"metacross/{name}" in files
    assert "metacross/assets/encoder/model.safetensors" in files
    assert "metacross/assets/corpus/en.train.conll" in files


def test_a_wheel_with_a_missing_file_is_refused(tmp_path):
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in sorted(package_files() - {"metacross/py.typed"}):
            archive.writestr(name, "")
    with pytest.raises(SystemExit, match=r"expected metacross/py\.typed in it"):
        check_wheel(wheel)


def test_a_wheel_with_a_test_in_it_is_refused(tmp_path):
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in [*sorted(package_files()), "tests/test_package.py"]:
            archive.writestr(name, "")
    with pytest.raises(SystemExit, match="expected only the package in it"):
        check_wheel(wheel)
