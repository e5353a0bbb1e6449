"""A browser for tests. They fail if the page logs an error or asks another server."""

import contextlib
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
"""The program of a browser; None: none is installed."""

BROWSER_TEST = [
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed"),
    pytest.mark.skipif(find_spec("uvicorn") is None, reason="the extra server is not installed"),
    pytest.mark.slow,
]
"""Marks of tests that need a browser."""

_NO_ANSWER = "Failed to load resource"
"""How the browser itself reports a server that is gone or answers with an error."""


@contextlib.contextmanager
def running_browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def watched_page(browser: Any, url: str, **context_options: Any) -> Iterator[Any]:
    """The page at an address; fails at the end if it logged an error or asked another server."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context_options})
    page = context.new_page()
    page.set_default_timeout(60_000)
    errors, outside = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: _note(message, errors))
    page.on(
        "request", lambda request: None if _is_inside(request, url) else outside.append(request)
    )
    page.goto(url)
    try:
        yield page
    finally:
        context.close()
    assert errors == []
    assert [request.url for request in outside] == []


def _note(message: Any, errors: list[str]) -> None:
    if message.type in ("error", "warning") and not message.text.startswith(_NO_ANSWER):
        errors.append(message.text)


def _is_inside(request: Any, url: str) -> bool:
    return request.url.startswith(url) or request.url.startswith("blob:" + url)
