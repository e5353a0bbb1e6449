"""Checks that a Ray cluster can be reached, before anything large is loaded."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec

from metacross.errors import RunError, SettingsError

_SECONDS_TO_ANSWER = 5.0
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_KIND, _SETTINGS = 3, 4  # place of the kind in the head of a frame, and the kind of settings
_NO_SETTINGS = bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])


def check_ray(address: str) -> None:
    """Refuse ``--ray`` if Ray is not installed, or if no Ray answers at the address: Ray itself
    would wait for minutes. An empty address is not checked unless ``RAY_ADDRESS`` gives one.
    """
    if find_spec("ray") is None:
        raise SettingsError("--ray: ray is not installed: pip install 'metacross[ray]'")
    address = address or os.environ.get("RAY_ADDRESS", "")
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER) as peer:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                _greet(peer)
    except (OSError, ValueError, OverflowError) as error:
        raise RunError(no_cluster(address, error)) from None


def _greet(peer: socket.socket) -> None:
    """Begin HTTP/2, which Ray's servers speak, and wait for the answer: the other's settings."""
    peer.sendall(_PREFACE + _NO_SETTINGS)
    head = b""
    while len(head) < len(_NO_SETTINGS):
        received = peer.recv(len(_NO_SETTINGS) - len(head))
        if not received:
            raise ConnectionError("something else listens there")
        head += received
    if head[_KIND] != _SETTINGS:
        raise ConnectionError("something else listens there")


def no_cluster(address: str, error: Exception) -> str:
    """What to say if no cluster answers."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    reason = reason.strip().splitlines()[0][:200]
    return f"--ray {address}: expected a Ray cluster, found none that answers ({reason})"
