"""A queue of sentences that is bounded in pieces and hands them out in batches by lane."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from metacross.text.sentence import Sentence

Lane: TypeAlias = Literal["adapted", "plain", "why", "remember", "forget"]
"""What is done with sentences: three ways to label them, and two that change the model's memory."""

_BATCH_SENTENCES = 64
_BATCH_PIECES = 8_192
_GATHERING_SECONDS = 0.005  # how long the oldest work waits for others to be batched with it


class QueueFull(Exception):  # noqa: N818 - a state, not an error
    """There is no room for more pieces; ``n_queued`` is the number of those waiting."""

    def __init__(self, n_queued: int) -> None:
        super().__init__(n_queued)
        self.n_queued = n_queued


class QueueClosed(Exception):  # noqa: N818 - a state, not an error
    """The queue takes no more work."""


@dataclass(eq=False, slots=True)
class Work:
    """Sentences of one request for one lane; ``done`` gets their results, in order.

    ``pieces`` is the number of pieces of each sentence. Cancel ``done`` to drop the work.
    """

    lane: Lane
    sentences: Sequence[Sentence]
    pieces: Sequence[int]
    done: Future[list[Any]] = field(default_factory=Future)
    results: list[Any] = field(default_factory=list)
    n_taken: int = 0
    queued_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """Some sentences of a work that are labeled together with those of other parts."""

    work: Work
    sentences: Sequence[Sentence]


class BatchingQueue:
    """Work that waits for the model. Any thread puts it in; one thread takes batches out.

    Each request in turn gives an equal number of sentences to a batch, so a long document does not
    keep short texts waiting. Lanes take turns. Work whose future was cancelled is dropped.
    """

    def __init__(self, *, max_pieces: int) -> None:
        self.max_pieces = max_pieces
        self._changed = threading.Condition()
        self._waiting: OrderedDict[Lane, list[Work]] = OrderedDict(
            adapted=[], plain=[], why=[], remember=[], forget=[]
        )
        self._n_pieces = 0
        self._closed = False

    @property
    def n_pieces(self) -> int:
        """Pieces of all work that waits or is being labeled."""
        return self._n_pieces

    def put(self, *works: Work) -> None:
        """Add the works of a request, all or none of them.

        Raises:
            QueueFull: They do not fit.
            QueueClosed: The queue takes no more work.
        """
        n_new = sum(sum(work.pieces) for work in works)
        with self._changed:
            if self._closed:
                raise QueueClosed
            if self._n_pieces + n_new > self.max_pieces:
                raise QueueFull(self._n_pieces)
            for work in works:
                work.queued_at = time.monotonic()
                self._n_pieces += sum(work.pieces)
                self._waiting[work.lane].append(work)
                work.done.add_done_callback(partial(self._release, work))
            self._changed.notify_all()

    def _release(self, work: Work, _done: Future[list[Any]]) -> None:
        """Make room when work is done or dropped."""
        with self._changed:
            self._n_pieces -= sum(work.pieces)
            if work in self._waiting[work.lane]:
                self._waiting[work.lane].remove(work)
            self._changed.notify_all()

    def close(self) -> None:
        """Take no more work; what is in the queue is still handed out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def drop_all(self) -> None:
        """Cancel all work that waits."""
        with self._changed:
            waiting = [work for works in self._waiting.values() for work in works]
        for work in waiting:
            work.done.cancel()

    def take(self) -> list[Part] | None:
        """Wait for work and take a batch of one lane; None if the queue is closed and empty."""
        with self._changed:
            while True:
                lane = next((lane for lane, works in self._waiting.items() if works), None)
                if lane is None and self._closed:
                    return None
                seconds = None if lane is None else self._gathering_seconds(self._waiting[lane])
                if lane is not None and (seconds is None or seconds <= 0):
                    return self._batch(lane)
                self._changed.wait(seconds)

    def _gathering_seconds(self, works: Sequence[Work]) -> float | None:
        """How long to wait for more work before a batch is taken; None: not at all."""
        n_sentences = sum(len(work.sentences) - work.n_taken for work in works)
        if self._closed or n_sentences >= _BATCH_SENTENCES:
            return None
        oldest = min(work.queued_at for work in works)
        return oldest + _GATHERING_SECONDS - time.monotonic()

    def _batch(self, lane: Lane) -> list[Part]:
        """One sentence of each work in turn, until the batch is full; then it is the turn of the
        other lanes.
        """
        turns = deque(self._waiting[lane])
        taken: dict[Work, list[Sentence]] = {}
        n_sentences = n_pieces = 0
        while turns and n_sentences < _BATCH_SENTENCES:
            work = turns[0]
            n_pieces += work.pieces[work.n_taken]
            if n_sentences and n_pieces > _BATCH_PIECES:
                break
            taken.setdefault(work, []).append(work.sentences[work.n_taken])
            work.n_taken += 1
            n_sentences += 1
            turns.popleft()
            if work.n_taken < len(work.sentences):
                turns.append(work)
        self._waiting[lane] = list(turns)
        self._waiting.move_to_end(lane)
        return [Part(work, tuple(sentences)) for work, sentences in taken.items()]
