"""The errors that a request can end in, with their status codes and JSON."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

STOPPING_MESSAGE = "the server is stopping; send the request to another one, or again later"
LOADING_MESSAGE = "the server is loading its model; send the request again in a few seconds"


class RequestProblem(HTTPException):
    """A request that is answered with an error.

    ``code`` names the problem for programs, ``message`` says what was expected, what was found and
    what to do, and ``where`` is the part of the request: ``body``, ``texts.3``, ``Authorization``.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        where: str = "body",
        retry_after: int | None = None,
    ) -> None:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(status, message, headers)
        self.code = code
        self.message = message
        self.where = where

    @property
    def content(self) -> dict[str, Any]:
        """The JSON of the answer."""
        return {"error": {"code": self.code, "message": self.message, "where": self.where}}

    def response(self) -> JSONResponse:
        """The answer."""
        return JSONResponse(self.content, self.status_code, self.headers)


def too_large(
    code: str, what: str, limit: int, found: int, advice: str, where: str
) -> RequestProblem:
    """A request above one of the limits of the server.

    >>> print(too_large("too_many_texts", "texts", 256, 300, "send fewer", "texts").message)
    expected at most 256 texts, found 300; send fewer
    """
    message = f"expected at most {limit:,} {what}, found {found:,}; {advice}"
    return RequestProblem(413, code, message, where=where)


def stopping() -> RequestProblem:
    """The answer to new work while the server stops."""
    return RequestProblem(503, "stopping", STOPPING_MESSAGE, where="server", retry_after=5)


def loading() -> RequestProblem:
    """The answer to work before the model is loaded."""
    return RequestProblem(503, "loading", LOADING_MESSAGE, where="server", retry_after=2)


def queue_full(limit: int, n_queued: int, n_pieces: int) -> RequestProblem:
    """The answer to work that the queue has no room for."""
    message = (
        f"expected room for {n_pieces:,} pieces in the queue, found {n_queued:,} of {limit:,} "
        "taken; send the request again later"
    )
    return RequestProblem(429, "queue_full", message, where="server", retry_after=1)


def out_of_time(seconds: float) -> RequestProblem:
    """The answer to work that was not done in time; it is dropped."""
    message = (
        f"expected an answer within {seconds:g} seconds; send fewer texts in a request, "
        'or turn adaptation off with "adapt": false'
    )
    return RequestProblem(504, "out_of_time", message, where="server")


def internal_error() -> RequestProblem:
    """The answer where the server itself failed."""
    message = "the server failed to answer; its log says why"
    return RequestProblem(500, "internal_error", message, where="server")
