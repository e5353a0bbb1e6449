"""The house: data flows from the first room to the last."""

import ast
import socket
from pathlib import Path

import pytest
from pytest_socket import SocketConnectBlockedError

import metacross

HOUSE = Path(metacross.__file__).parent
ROOMS = ["text", "metrics", "model", "adaptation", "training", "study", "cli"]


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_before_it(room):
    later = ROOMS[ROOMS.index(room) + 1 :]
    for path in (HOUSE / room).rglob("*.py"):
        for name in imported_modules(path):
            parts = name.split(".")
            if parts[0] == "metacross" and len(parts) > 1:
                assert parts[1] not in later, f"{path} imports {name}"


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
    assert knowing == {"encoder.py", "mini_encoder.py"}


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
def test_tests_cannot_reach_the_network():
    with pytest.raises(SocketConnectBlockedError):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
