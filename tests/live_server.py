"""A server on loopback, in a thread of the test process, and a client of it."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from metacross.adaptation.ner_model import NerModel
from metacross.serving.app import create_app
from metacross.serving.options import ServerOptions
from metacross.serving.run_server import StoppableServer, listening_socket
from metacross.serving.served_model import ServedModel


@dataclass(frozen=True)
class Answer:
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests to a server, each on a connection of its own."""

    def __init__(self, port: int, app: FastAPI | None = None) -> None:
        self.port = port
        self.app = app
        self.url = f"http://127.0.0.1:{port}"

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, fields, answer.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, content: Any, **headers: str) -> Answer:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.send("POST", path, body, {"Content-Type": "application/json", **headers})


def wait_until(is_true, *, seconds: float = 60.0) -> None:
    """Wait for something that must happen; a bound, not a measurement."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@contextlib.contextmanager
def running(served: ServedModel, options: ServerOptions) -> Iterator[Client]:
    """A server that is ready inside the block and stopped after it."""
    app = create_app(served, options)
    with contextlib.closing(listening_socket("127.0.0.1", 0)) as listening:
        server = StoppableServer(app, graceful_seconds=10)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            client = Client(listening.getsockname()[1], app)
            wait_until(lambda: client.get("/readyz").status == 200)
            yield client
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


class HeldModel(NerModel):
    """A model that waits with its predictions until it is released."""

    def __init__(self, parts) -> None:
        super().__init__(parts)
        self.released = threading.Event()
        self.released.set()
        self.is_waiting = threading.Event()
        self.predicted: list[str] = []

    def hold(self) -> None:
        self.is_waiting.clear()
        self.released.clear()

    def predict_stream(self, sentences, **options):
        self.is_waiting.set()
        assert self.released.wait(60)
        predictions = list(super().predict_stream(sentences, **options))
        self.predicted += [prediction.text for prediction in predictions]
        return iter(predictions)
