"""Checks that a Ray cluster can be reached, before anything large is loaded."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec

from metacross.errors import RunError, SettingsError

_SECONDS_TO_ANSWER = 5.0


def check_ray(address: str) -> None:
    """Refuse ``--ray`` if Ray is not installed, or if nothing listens at the address: Ray itself
    would wait for minutes. An empty address is not checked unless ``RAY_ADDRESS`` gives one.
    """
    if find_spec("ray") is None:
        raise SettingsError("--ray: ray is not installed: pip install 'metacross[ray]'")
    address = address or os.environ.get("RAY_ADDRESS", "")
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER):
            pass
    except (OSError, ValueError, OverflowError) as error:
        raise RunError(no_cluster(address, error)) from None


def no_cluster(address: str, error: Exception) -> str:
    """What to say if no cluster answers."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    reason = reason.strip().splitlines()[0][:200]
    return f"--ray {address}: expected a Ray cluster, found none that answers ({reason})"
