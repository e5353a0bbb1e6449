"""A server in a process of its own, and a small HTTP client for many connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import metacross
from metacross.model.model_mark import is_model_folder
from metacross.serving.demo_model import demo_model_folder, train_demo_model
from metacross.text.bundled_corpus import TARGETS


@dataclass(frozen=True, slots=True)
class Answer:
    """The status and the body of an answer."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON
        """The body as JSON."""
        return json.loads(self.body)


class Connection:
    """A connection that is kept open between requests, and opened again where the server closed
    it.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, content: Any, kind: str = "json") -> Answer:  # noqa: ANN401
        """Send JSON, or bytes as they are."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return await self.send("POST", path, body, kind)

    async def get(self, path: str) -> Answer:
        """Ask for a path."""
        return await self.send("GET", path, b"")

    async def send(self, method: str, path: str, body: bytes, kind: str = "json") -> Answer:
        """Send a request and read its answer."""
        try:
            reader, _ = await self.start(method, path, body, kind)
            return await _answer(reader)
        except BaseException:
            self.close()
            raise

    async def start(
        self, method: str, path: str, body: bytes, kind: str = "json"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request without waiting for the answer."""
        if self._streams is None or self._streams[0].at_eof():
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._streams[1].write(head.encode() + body)
        await self._streams[1].drain()
        return self._streams

    def close(self) -> None:
        """Close the connection, whether or not an answer is on its way."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split(" ", 2)[1])
    length = re.search(r"content-length: (\d+)", head)
    if length is not None:
        return Answer(status, await reader.readexactly(int(length[1])))
    chunks = []
    while size := int(await reader.readline(), 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return Answer(status, b"".join(chunks))


@contextlib.contextmanager
def server(model: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """``metacross serve`` on a free port; gives the process and the port."""
    command = [sys.executable, "-m", "metacross", "serve", str(model), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = (process.stdout or sys.stdin).readline()
        found = re.search(r":(\d+) ", line)
        if found is None:
            raise RuntimeError(f"expected the address of the server, found {line!r}")
        asyncio.run(_until_ready(int(found[1])))
        yield process, int(found[1])
    finally:
        process.terminate()
        process.wait(60)


async def _until_ready(port: int) -> None:
    connection = Connection(port)
    while (await connection.get("/readyz")).status != 200:
        await asyncio.sleep(0.1)
    connection.close()


def demo_model() -> Path:
    """The model of ``metacross serve`` without MODEL."""
    folder = demo_model_folder()
    if not is_model_folder(folder):
        train_demo_model(folder, ())
    return folder


def test_texts() -> list[str]:
    """The test sentences of the bundled corpus, languages in turn."""
    corpora = [metacross.bundled_corpus(language, "test") for language in TARGETS]
    return [
        ("" if sentence.language == "zh" else " ").join(sentence.words)
        for row in zip(*corpora, strict=False)
        for sentence in row
    ]
