"""A server with a tiny model, and a browser that looks at its page."""

import socket
import threading

import pytest

import metacross
import tiny
from page_browser import running_browser, watched_page

STRONG = {"adaptation": {"learning_rate": 0.03}}
"""So strong that the tiny model labels differently after adaptation."""
MAX_CHARACTERS = 20_000


class Server:
    """A server in a thread, which can be stopped and started again at the same address."""

    def __init__(self, folder):
        from metacross.serving.limits import Limits
        from metacross.serving.options import ServerOptions
        from metacross.serving.served_model import ServedModel

        self._served = ServedModel.at(folder, device="cpu", overrides=STRONG)
        self._options = ServerOptions(limits=Limits(max_characters=MAX_CHARACTERS))
        self._port = 0
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}/"

    def start(self):
        import uvicorn

        from metacross.serving.app import create_app

        self._socket = socket.create_server(("127.0.0.1", self._port))
        self._port = self._socket.getsockname()[1]
        app = create_app(self._served, self._options)
        self._uvicorn = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        self._thread = threading.Thread(target=self._uvicorn.run, args=([self._socket],))
        self._thread.start()

    def stop(self):
        self._uvicorn.should_exit = True
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="session")
def folder(encoders, tmp_path_factory):
    """A tiny model that knows its names and places."""
    folder = tmp_path_factory.mktemp("models") / "names"
    settings = [*tiny.FAST, "run.method=direct", "direct.steps=100", "run.validate_every=100"]
    metacross.train(
        tiny.corpus(60),
        dev=tiny.corpus(10, seed=1),
        encoder=encoders["bert"],
        recipe=metacross.load_settings("paper", settings),
        output=folder,
    )
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = Server(folder)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def model(folder):
    return metacross.load(folder, device="cpu", **STRONG)


@pytest.fixture(scope="module")
def browser():
    with running_browser() as browser:
        yield browser


@pytest.fixture
def page(browser, server):
    with watched_page(browser, server.url) as page:
        yield page
