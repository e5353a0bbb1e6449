"""The page in a real browser. Every test also fails on a console error or an outside request."""

import contextlib
import json
import shutil
import socket
import threading
from collections.abc import Iterator

import pytest
import tiny

import metacross

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra server is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.slow,
]

SPANISH = "ana viajó a rome. ¿Y tom? Se quedó en oslo."
TEXTS = {
    "es": SPANISH,
    "zh": "昨天ana在rome见到tom。他们去了oslo！",
    "ar": "سافرت ana إلى rome يوم الاثنين. بقي tom في oslo.",
    "emoji": "💩ana 👩‍👩‍👧‍👦 went to rome 🇪🇸 and saw tom. 🎉",
}
N_SENTENCES = 50
MARKS = """marks => marks.map(mark => [mark.querySelector('.words').textContent, mark.dataset.label])"""


# Server and browser


class Server:
    """A server in a thread, which can be stopped and started again at the same address."""

    def __init__(self, folder):
        from metacross.serving.options import ServerOptions
        from metacross.serving.served_model import ServedModel

        self.served = ServedModel.in_folder(folder, device="cpu", overrides=ADAPTATION)
        self.options = ServerOptions()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.start()

    def start(self):
        from metacross.serving.app import create_app

        if self.socket.fileno() < 0:
            self.socket = socket.create_server(("127.0.0.1", self.port))
        self.app = create_app(self.served, self.options)
        config = uvicorn.Config(self.app, log_level="warning", timeout_graceful_shutdown=5)
        self.uvicorn = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.uvicorn.run, kwargs={"sockets": [self.socket]})
        self.thread.start()

    def stop(self):
        self.uvicorn.should_exit = True
        self.thread.join()
        self.socket.close()
