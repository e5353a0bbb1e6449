"""Takes the pictures of the server's page: ``python -m tools.docs.screenshots``.

It serves the demo model, which is trained on first use, and opens the page in Chromium. The
pictures in the documentation were taken with the fonts Inter and Noto:
``apt-get install chromium fonts-inter fonts-noto-core fonts-noto-cjk``.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, ViewportSize, sync_playwright

IMAGES = Path(__file__).parents[2] / "docs" / "images"
EXAMPLE, ENTITY = "Español", "Real Betis, ORG"
_SIZE, _SCALE = ViewportSize(width=1240, height=1040), 1.5
_COLORS = 256  # of a picture: a third of its size in a file
_SERVE = (sys.executable, "-m", "metacross", "serve", "--port", "0")


def main() -> None:
    """Write ``page-light.png`` and ``page-dark.png``."""
    with served() as url, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for theme in ("light", "dark"):
            take_picture(chromium, url, theme)
        chromium.close()


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Serve the demo model while the block runs; gives its address."""
    with subprocess.Popen(_SERVE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()  # Serving demo on http://127.0.0.1:43210 (Ctrl-C stops)
        address = next((word for word in line.split() if word.startswith("http")), None)
        if address is None:
            raise SystemExit("expected metacross serve to print its address")
        try:
            yield address
        finally:
            server.terminate()


def take_picture(browser: Browser, url: str, theme: Literal["light", "dark"]) -> None:
    """Open an example and the details of one of its entities."""
    page = browser.new_page(
        viewport=_SIZE, device_scale_factor=_SCALE, color_scheme=theme, reduced_motion="reduce"
    )
    page.set_default_timeout(120_000)  # the server may still load its model
    page.goto(url)
    page.get_by_role("button", name=EXAMPLE).click()
    page.get_by_role("button", name=ENTITY).click()
    page.locator(".counterfactuals").wait_for()
    page.evaluate("document.fonts.ready")
    page.mouse.move(0, 0)
    picture = Image.open(BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(_COLORS).save(IMAGES / f"page-{theme}.png", optimize=True)
    page.close()


if __name__ == "__main__":
    main()
