"""The house: data flows from the first room to the last, and the architecture page says so."""

import ast
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_socket import SocketConnectBlockedError

import metacross

HOUSE = Path(metacross.__file__).parent
DOCS = Path(__file__).parent.parent / "docs"
ROOMS = [
    "text",
    "metrics",
    "model",
    "adaptation",
    "training",
    "baselines",
    "study",
    "serving",
    "cli",
]
IMPORTED_WHEN_CALLED = {("adaptation/ner_model.py", "training")}
"""``NerModel.fine_tune`` is the one function that calls a later room."""
EXISTING = [room for room in ROOMS if (HOUSE / room).is_dir()]


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported_rooms(room: str) -> list[str]:
    """The other rooms that a room imports from, in the order of the house."""
    rooms = {
        name.split(".")[1]
        for path in (HOUSE / room).rglob("*.py")
        for name in imported_modules(path)
        if name.startswith("metacross.")
        and (str(path.relative_to(HOUSE)), name.split(".")[1]) not in IMPORTED_WHEN_CALLED
    }
    return [other for other in ROOMS if other in rooms and other != room]


def test_every_package_is_a_room():
    packages = {path.parent.name for path in HOUSE.glob("*/__init__.py")}
    assert packages == set(EXISTING)


@pytest.mark.parametrize("room", EXISTING)
def test_a_room_imports_only_from_rooms_before_it(room):
    later = ROOMS[ROOMS.index(room) + 1 :]
    assert not set(imported_rooms(room)) & set(later)


@pytest.mark.slow
def test_what_is_imported_when_called_is_not_imported_before():
    code = "import sys, metacross.adaptation.ner_model; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "metacross.adaptation.ner_model" in ended.stdout.split()
    assert "metacross.training" not in ended.stdout.split()


def test_the_catalog_of_baselines_is_read_without_torch():
    code = "import sys, metacross.baselines.catalog; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "metacross.baselines.catalog" in ended.stdout.split()
    assert not {"torch", "transformers"} & {*ended.stdout.split()}


def test_the_text_room_does_not_need_torch():
    for path in (HOUSE / "text").rglob("*.py"):
        assert not any(
            name.split(".")[0] in ("torch", "transformers") for name in imported_modules(path)
        )


def test_only_the_encoder_modules_know_transformers():
    knowing = {
        path.name
        for path in HOUSE.rglob("*.py")
        if any(name.split(".")[0] == "transformers" for name in imported_modules(path))
    }
    assert knowing == {
        "encoder.py",
        "encoder_files.py",
        "mini_encoder.py",
        "pipeline.py",
        "reading_direction.py",
        "tokenizer.py",
    }


def test_the_architecture_page_lists_the_rooms_with_their_imports():
    page = (DOCS / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| ?(.*?) ?\|$", page.split("\n\n## ")[0], re.MULTILINE)
    listed = {room: re.findall(r"`(\w+)`", imports) for room, imports in rows}
    assert list(listed) == EXISTING
    assert listed == {room: imported_rooms(room) for room in EXISTING}


def test_the_drawing_shows_the_rooms_and_only_arrows_that_are_imports():
    drawing = (DOCS / "figures" / "rooms.svg").read_text()
    assert re.findall(r'data-room="(\w+)"', drawing) == EXISTING
    arrows = re.findall(r'data-from="(\w+)" data-to="(\w+)"', drawing)
    assert len(arrows) >= len(EXISTING) - 1
    for before, after in arrows:
        assert before in imported_rooms(after), f"{after} does not import {before}"


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
def test_tests_cannot_reach_the_network():
    with pytest.raises(SocketConnectBlockedError):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
