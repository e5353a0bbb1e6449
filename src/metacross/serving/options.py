"""How a server answers, as its command line says."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from metacross.errors import SettingsError
from metacross.serving.limits import Limits

_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a server.

    Args:
        language: Language of texts whose request names none; None: unknown.
        adapt: Whether to adapt if a request does not say; None: as the model was trained.
        hide_source: Show positions and similarities of neighbors, but no source text.
        token: What requests must send; None: nothing.
        cors: Origins of other pages that may use the server.
        any_host: Accept any ``Host`` header; otherwise only names of this machine.
        learn: Whether requests may let the model remember and forget sentences.
        label_studio_seconds: How long tasks of Label Studio are labeled with adaptation; the rest
            is labeled without it, before Label Studio gives up after 100 seconds.
        limits: What is accepted.
    """

    language: str | None = None
    adapt: bool | None = None
    hide_source: bool = False
    token: str | None = field(default=None, repr=False)
    cors: tuple[str, ...] = ()
    any_host: bool = False
    learn: bool = False
    label_studio_seconds: float = 80.0
    limits: Limits = field(default_factory=Limits)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server on a host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(file: Path) -> str:
    """Read the token from its file: one line."""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"--token-file: {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"--token-file: {file}: expected UTF-8, found other bytes") from error
    if len(token) < _SHORTEST_TOKEN or len(token.split()) != 1:
        raise SettingsError(
            f"--token-file: {file}: expected one word of at least {_SHORTEST_TOKEN} characters; "
            "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token


def check_learning_is_guarded(*, learn: bool, has_token: bool) -> None:
    """Refuse to let everybody change the model."""
    if learn and not has_token:
        raise SettingsError("--learn: requests change the model, so give --token-file FILE too")


def check_reachable(host: str, *, has_token: bool, no_token: bool) -> None:
    """Refuse to serve other machines without a token, unless that was asked for."""
    if not is_loopback(host) and not has_token and not no_token:
        raise SettingsError(
            f"--host: other machines can reach {host}; give --token-file FILE, "
            "or --no-token to serve everybody"
        )
