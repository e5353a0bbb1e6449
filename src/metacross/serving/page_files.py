"""Serves the page of the server, with a policy that lets it load nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
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
_INLINE = re.compile(r"<(script|style)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)


def page_paths() -> dict[str, Path]:
    """The files of the page by path: ``/`` is the page, ``/page/NAME`` what it loads."""
    files = sorted(file for file in _FOLDER.iterdir() if file.suffix in _TYPES)
    return {"/" if file.name == _INDEX else f"/page/{file.name}": file for file in files}


def add_page(app: FastAPI) -> None:
    """Serve the files of the page. They are read once; no request names a file."""
    files = page_paths()
    policy = content_security_policy((_FOLDER / _INDEX).read_text(encoding="utf-8"))
    for path, file in files.items():
        app.add_api_route(path, _answer_with(file, policy), include_in_schema=False)


def content_security_policy(html: str) -> str:
    """The policy of a page: it may load files of this server, run only the scripts and styles that
    it contains itself, and talk to nobody else.
    """
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        hashes[kind.lower()].append(f"'sha256-{digest}'")
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *hashes["script"])),
            " ".join(("style-src 'self'", *hashes["style"])),
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _answer_with(file: Path, policy: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    content, media_type = file.read_bytes(), _TYPES[file.suffix]
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}

    async def answer() -> Response:
        return Response(content, media_type=media_type, headers=headers)

    return answer
