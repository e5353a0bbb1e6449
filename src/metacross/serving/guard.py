"""Lets requests in: checks host and token, sets the headers of answers, counts them."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metacross.serving.metrics import ServerMetrics
from metacross.serving.options import ServerOptions, is_loopback
from metacross.serving.problems import RequestProblem

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class Guard:
    """The outermost layer of the server, around every request.

    ``paths`` are the server's own; ``open_paths`` need no token.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        options: ServerOptions,
        metrics: ServerMetrics,
        paths: Collection[str],
        open_paths: Collection[str],
    ) -> None:
        self._app = app
        self._options = options
        self._metrics = metrics
        self._paths = frozenset(paths)
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.monotonic()
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        problem = self._problem(scope)
        app = self._app if problem is None else problem.response()
        try:
            await app(scope, receive, send_with_headers)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.answered(path, status, time.monotonic() - start)

    def _problem(self, scope: Scope) -> RequestProblem | None:
        headers = Headers(scope=scope)
        if not self._options.any_host and not _names_this_machine(headers.get("host", "")):
            return RequestProblem(
                403,
                "wrong_host",
                "expected a Host header that names this machine, such as localhost; "
                "start the server with a token to use other names",
                where="Host",
            )
        if self._options.token is None or scope["path"] in self._open_paths:
            return None
        return _token_problem(headers.get("authorization", ""), self._options.token)


def _names_this_machine(host: str) -> bool:
    """Whether a Host header names this machine. A page of another site that lets its own name
    resolve to 127.0.0.1 sends that name.
    """
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return is_loopback(name.strip("[]").lower())


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("latin-1").partition(":")[2]
    except ValueError:
        return ""


def _token_problem(authorization: str, token: str) -> RequestProblem | None:
    scheme, _, sent = authorization.partition(" ")
    if scheme.lower() == "basic":  # Label Studio sends a user and a password: the token
        scheme, sent = "bearer", _password(sent)
    sent_bytes = sent.strip().encode("latin-1", "replace")  # as the header was decoded
    is_right = hmac.compare_digest(sent_bytes, token.encode("utf-8"))
    if scheme.lower() == "bearer" and is_right:
        return None
    found = "a wrong token" if authorization else "none"
    problem = RequestProblem(
        401,
        "wrong_token",
        f"expected the header Authorization: Bearer TOKEN, found {found}",
        where="Authorization",
    )
    problem.headers = {"WWW-Authenticate": "Bearer"}
    return problem
