"""Checks what is inside a wheel and an sdist."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "metacross"
IGNORED = ("__pycache__", ".pyc")


def package_files() -> set[str]:
    """Every file of the package as it should be in a wheel."""
    return {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and not any(part in str(path) for part in IGNORED)
    }


def check_wheel(wheel: Path) -> None:
    """A wheel holds the package with all its data, its license, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    _check_missing(wheel, package_files() - names)
    extra = {name for name in names - package_files() if ".dist-info/" not in name}
    _check_extra(wheel, extra)
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        raise SystemExit(f"{wheel.name}: expected the license in it")


def check_sdist(sdist: Path) -> None:
    """An sdist holds what the wheel is made of, and no tests, which need the repository."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {f"src/{name}" for name in package_files()}
    needed |= {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"}
    _check_missing(sdist, needed - names)
    _check_extra(sdist, {name for name in names - needed if not _is_metadata(name)})


def _is_metadata(name: str) -> bool:
    return name in ("PKG-INFO", ".gitignore")


def _check_missing(archive: Path, missing: Iterable[str]) -> None:
    if names := sorted(missing):
        raise SystemExit(f"{archive.name}: expected {', '.join(names[:5])} in it")


def _check_extra(archive: Path, extra: Iterable[str]) -> None:
    if names := sorted(extra):
        raise SystemExit(f"{archive.name}: expected only the package in it, found {names[:5]}")
