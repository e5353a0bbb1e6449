"""The page of the server: its files, and the policy that they are served with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePath

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page loads nothing from elsewhere, runs no inline script and is not shown in a frame."""

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page."""

    content: bytes
    media_type: str


@cache
def page_files() -> dict[str, PageFile]:
    """The files of the page by name; ``index.html`` is served at ``/``, the others in ``/page/``.

    >>> page_files()["index.html"].media_type
    'text/html; charset=utf-8'
    """
    files = (item for item in resources.files(__name__).iterdir() if item.is_file())
    return {
        item.name: PageFile(item.read_bytes(), _MEDIA_TYPES[suffix])
        for item in files
        if (suffix := PurePath(item.name).suffix) in _MEDIA_TYPES
    }
