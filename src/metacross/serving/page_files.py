"""Serves the page of the server, with a policy that lets it load nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import Response

_FOLDER = Path(__file__).parent / "page"
_INDEX = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page may load and ask only this server. It has no inline script and no inline style."""


def page_paths() -> dict[str, Path]:
    """The files of the page by path: ``/`` is the page, ``/page/NAME`` what it loads."""
    files = sorted(file for file in _FOLDER.iterdir() if file.suffix in _TYPES)
    return {"/" if file.name == _INDEX else f"/page/{file.name}": file for file in files}


def add_page(app: FastAPI) -> None:
    """Serve the files of the page. They are read once; no request names a file."""
    for path, file in page_paths().items():
        app.add_api_route(path, _answer_with(file), include_in_schema=False)


def _answer_with(file: Path) -> Callable[[], Awaitable[Response]]:
    content, media_type = file.read_bytes(), _TYPES[file.suffix]
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}

    async def answer() -> Response:
        return Response(content, media_type=media_type, headers=headers)

    return answer
