"""Brings requests to the model thread and its results back, within limits and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeAlias, TypeVar

from fastapi import Request

from metacross.adaptation.ner_model import NerModel
from metacross.serving import problems
from metacross.serving.batching_queue import BatchingQueue, Lane, QueueClosed, QueueFull, Work
from metacross.serving.documents import Document, all_sentences
from metacross.serving.limits import Limits
from metacross.serving.metrics import ServerMetrics
from metacross.serving.model_thread import ModelThread
from metacross.serving.problems import RequestProblem

State: TypeAlias = Literal["loading", "ready", "stopping"]

_PREPARING_THREADS = 2
_SHORT_CHARACTERS = 1_000  # work on them takes less time than to hand it to a thread
_RETRY_SECONDS = 0.02
_PREPARED_AT_ONCE = 64  # requests of full length whose texts are being split into sentences

_T = TypeVar("_T")


class ClientLeft(Exception):  # noqa: N818 - not an error
    """The client closed the connection; its work is dropped."""


class LabelingDesk:
    """Where the requests of all clients meet the one model thread."""

    def __init__(
        self, load: Callable[[], NerModel], limits: Limits, metrics: ServerMetrics
    ) -> None:
        self._limits = limits
        self._queue = BatchingQueue(max_pieces=limits.queue_pieces)
        self._ended = asyncio.Event()
        self._stopping = False
        self._thread = ModelThread(
            load, self._queue, on_labeled=metrics.labeled, on_end=self._on_end
        )
        self._preparing = ThreadPoolExecutor(_PREPARING_THREADS, "metacross-text")
        self._characters_in_preparation = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self.n_accepted = 0
        """Number of requests whose work went into the queue."""
        self.n_finished = 0
        """Number of accepted requests that were labeled; the clients of the others left, or they
        took too long.
        """
        metrics.watch(
            queue_pieces=lambda: self._queue.n_pieces,
            gradient_cache=lambda: self._thread.gradient_cache_bytes,
        )

    def start(self) -> None:
        """Begin to load the model; called in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Take no more work; what was accepted is finished."""
        self._stopping = True
        self._queue.close()

    def drop_all(self) -> None:
        """Drop all work that waits."""
        self.stop()
        self._queue.drop_all()

    def close(self) -> None:
        """Let the threads that prepare texts end."""
        self._preparing.shutdown(wait=False)

    async def ended(self) -> None:
        """Wait until the model thread has finished all accepted work, or failed to load."""
        await self._ended.wait()

    def _on_end(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)

    @property
    def load_problem(self) -> Exception | None:
        """Why the model cannot be loaded."""
        return self._thread.problem

    @property
    def state(self) -> State:
        """What the server is doing."""
        if self._stopping or self._ended.is_set():
            return "stopping"
        return "loading" if self._thread.model is None else "ready"

    @property
    def model(self) -> NerModel:
        """The model; only its settings and tokenizer may be used outside the model thread."""
        if self.state == "stopping":
            raise problems.stopping()
        if self._thread.model is None:
            raise problems.loading()
        return self._thread.model

    async def prepared(self, n_characters: int, work: Callable[[], _T]) -> _T:
        """Do work on texts, in a thread if it is long, so that the event loop can answer others."""
        if n_characters <= _SHORT_CHARACTERS:
            return work()
        limit = _PREPARED_AT_ONCE * self._limits.max_characters
        if self._characters_in_preparation + n_characters > limit:
            raise RequestProblem(
                429,
                "queue_full",
                f"expected at most {limit:,} characters to be prepared at once; "
                "send the request again later",
                where="server",
                retry_after=1,
            )
        self._characters_in_preparation += n_characters
        try:
            return await asyncio.get_running_loop().run_in_executor(self._preparing, work)
        finally:
            self._characters_in_preparation -= n_characters

    async def labeled(
        self,
        documents: Sequence[Document],
        lanes: Sequence[Lane],
        *,
        cost: int = 1,
        waits: bool = False,
    ) -> list[list[Any]]:
        """The results of all sentences, for each lane. ``cost`` is how often each is labeled.

        ``waits`` says whether the work waits while the queue is full, or is refused.
        """
        pairs = list(all_sentences(documents))
        if not pairs:
            return [[] for _ in lanes]
        sentences = [sentence for sentence, _ in pairs]
        pieces = [cost * n_pieces for _, n_pieces in pairs]
        works = [Work(lane, sentences, pieces) for lane in lanes]
        while not self._has_put(works, waits=waits):
            await asyncio.sleep(_RETRY_SECONDS)
        self.n_accepted += 1
        results = await asyncio.gather(*(asyncio.wrap_future(work.done) for work in works))
        self.n_finished += 1
        return list(results)

    def _has_put(self, works: Sequence[Work], *, waits: bool) -> bool:
        """Put work into the queue; False if the queue is full and the work waits."""
        n_pieces = sum(sum(work.pieces) for work in works)
        limit = self._limits.queue_pieces
        if n_pieces > limit:
            raise problems.too_large(
                "too_many_pieces", "word pieces", limit, n_pieces, "send fewer texts", "texts"
            )
        try:
            self._queue.put(*works)
        except QueueFull as full:
            if waits:
                return False
            raise problems.queue_full(limit, full.n_queued, n_pieces) from None
        except QueueClosed:
            raise problems.stopping() from None
        return True

    async def answered_in_time(self, request: Request, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of work for a request; dropped if the client leaves or time is over.

        Raises:
            ClientLeft: Nobody waits for the answer.
            RequestProblem: There is none in time.
        """
        return await self._answered(request, work, self._limits.seconds)

    async def answered_while_awaited(self, request: Request, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of work that looks at the time itself; dropped if the client leaves.

        Raises:
            ClientLeft: Nobody waits for the answer.
        """
        return await self._answered(request, work, None)

    async def _answered(
        self, request: Request, work: Coroutine[Any, Any, _T], seconds: float | None
    ) -> _T:
        """The result of work for a request; ``seconds`` is None if it may take any time."""
        working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(_client_leaves(request))
        try:
            await asyncio.wait(
                {working, leaving},
                timeout=seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if working.done():
                return _result(working)
            if leaving.done():
                raise ClientLeft
            raise problems.out_of_time(self._limits.seconds)
        finally:
            working.cancel()
            leaving.cancel()


def _result(working: asyncio.Future[_T]) -> _T:
    if working.cancelled():  # the model thread ended
        raise problems.stopping()
    return working.result()


async def _client_leaves(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
