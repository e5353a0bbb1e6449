"""Reads the bodies of requests: their size, their type and their JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute

from metacross.serving.limits import Limits
from metacross.serving.problems import RequestProblem, too_large

_DISCARDED = 32  # times the limit: what is read and thrown away, so that the client can read a 413
_T = TypeVar("_T")


class JsonRequest(Request):
    """A request whose body is read up to the server's limit and must be JSON."""

    async def body(self) -> bytes:
        """The whole body, if it is not too long and arrives in time."""
        if not hasattr(self, "_body"):
            limits: Limits = self.app.state.limits
            reading = limited_body(self, limits.max_bytes, "texts")
            self._body = await read_in_time(reading, limits)
        return self._body

    async def json(self) -> Any:  # noqa: ANN401 - JSON
        """The body as JSON."""
        return strict_json(await self.body())


async def read_in_time(reading: Coroutine[Any, Any, _T], limits: Limits) -> _T:
    """The body that ``reading`` gives, if all of it arrives in time."""
    try:
        return await asyncio.wait_for(reading, limits.seconds)
    except (TimeoutError, asyncio.TimeoutError):
        raise RequestProblem(
            408,
            "slow_request",
            f"expected the whole body within {limits.seconds:g} seconds; send it faster",
        ) from None


async def limited_body(request: Request, max_bytes: int, what: str) -> bytes:
    """The whole body, if it is not too long."""
    return b"".join([chunk async for chunk in limited_chunks(request, max_bytes, what)])


async def limited_chunks(request: Request, max_bytes: int, what: str) -> AsyncIterator[bytes]:
    """The chunks of a body; a longer one is refused after it was read and thrown away."""
    n_bytes = 0
    async for chunk in request.stream():
        n_bytes += len(chunk)
        if n_bytes <= max_bytes:
            yield chunk
        elif n_bytes > _DISCARDED * max_bytes:
            break
    if n_bytes > max_bytes:
        declared = request.headers.get("content-length", "")
        found = int(declared) if declared.isascii() and declared.isdigit() else n_bytes
        raise too_large(
            "too_many_bytes", "bytes", max_bytes, max(found, n_bytes), f"send fewer {what}", "body"
        )


def strict_json(body: bytes) -> Any:  # noqa: ANN401 - JSON
    """Read JSON as its standard says: UTF-8, no NaN, no endless nesting."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestProblem(
            400,
            "not_utf8",
            f"expected UTF-8, found the byte 0x{body[error.start]:02X} at "
            f"position {error.start}; encode the request as UTF-8",
        ) from None
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise RequestProblem(
            400,
            "not_json",
            f"expected JSON, found something else at line {error.lineno}, column {error.colno}: "
            f"{error.msg[:1].lower()}{error.msg[1:]}",
        ) from None
    except RecursionError:
        raise RequestProblem(
            400, "not_json", "expected JSON of a few levels, found far too many brackets"
        ) from None
    except ValueError as error:
        raise RequestProblem(400, "not_json", f"expected JSON, found {error}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name}, which JSON does not have")


class JsonRoute(APIRoute):
    """A route whose requests have a JSON body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Check the type of the body before anything else is done."""
        handler = super().get_route_handler()

        async def checked(request: Request) -> Response:
            if request.method == "POST":
                check_content_type(request, ("application/json",))
            return await handler(JsonRequest(request.scope, request.receive))

        return checked


def check_content_type(request: Request, accepted: tuple[str, ...]) -> None:
    """Refuse a body that is not declared as one of the accepted types."""
    declared = request.headers.get("content-type", "")
    if declared.partition(";")[0].strip().lower() not in accepted:
        found = repr(declared[:60]) if declared else "none"
        raise RequestProblem(
            415,
            "wrong_content_type",
            f"expected the header Content-Type: {' or '.join(accepted)}, found {found}",
            where="Content-Type",
        )
