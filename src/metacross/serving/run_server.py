"""Runs the server until a signal stops it; accepted work is finished first."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import uvicorn
from fastapi import FastAPI

from metacross.errors import SettingsError
from metacross.serving.app import create_app
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel

_BACKLOG = 2_048
_SWITCH_SECONDS = 0.001  # the event loop waits that long for the model thread to let it run


@dataclass(frozen=True, slots=True)
class ServedCounts:
    """Requests of a server over its life: those it accepted, and those of them it finished."""

    accepted: int
    finished: int


def serve(
    served: ServedModel,
    options: ServerOptions,
    *,
    host: str,
    port: int,
    on_listening: Callable[[str], None] = lambda _url: None,
) -> ServedCounts:
    """Serve a model until it is stopped.

    ``port`` 0 takes a free one; ``on_listening`` is called with the address.

    SIGTERM and SIGINT stop the server: work that was accepted is finished, other requests are
    answered with 503. A second signal drops the work.

    Raises:
        MetacrossError: The model cannot be loaded, or the port is taken.
    """
    app = create_app(served, options)
    sys.setswitchinterval(_SWITCH_SECONDS)
    listening = listening_socket(host, port)
    with contextlib.closing(listening):
        url = _url(host, listening)
        server = StoppableServer(
            app,
            graceful_seconds=options.limits.seconds,
            on_listening=lambda: on_listening(url),
        )
        server.run(sockets=[listening])
    desk = app.state.desk
    if desk.load_problem is not None:
        raise desk.load_problem
    return ServedCounts(desk.n_accepted, desk.n_finished)


class StoppableServer(uvicorn.Server):
    """A server that listens until all accepted work is finished, then ends."""

    def __init__(
        self,
        app: FastAPI,
        *,
        graceful_seconds: float,
        on_listening: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=int(graceful_seconds) + 1,
            )
        )
        self._app = app
        self._on_listening = on_listening
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Also end the server when the model thread ends."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if not self.should_exit:
            self._watching = asyncio.ensure_future(self._exit_after_work())
            self._on_listening()

    async def _exit_after_work(self) -> None:
        await self._app.state.desk.ended()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops taking work, the second drops it."""
        desk = getattr(self._app.state, "desk", None)
        if desk is None or desk.state == "stopping":
            super().handle_exit(sig, frame)
            return
        if self._loop is not None:
            self._loop.call_soon_threadsafe(desk.stop)


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 takes a free one.

    Its connections send at once: the head of an answer and its body are written one after the
    other, and otherwise the body would wait until the client has confirmed the head, 40 ms later.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise SettingsError(
            f"--port: {host}:{port} cannot be used: {error.strerror or error}; "
            "choose another with --host and --port"
        ) from error
    except OverflowError as error:
        raise SettingsError(f"--port: expected 0 to 65535, found {port}") from error
    return listening


def _url(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
