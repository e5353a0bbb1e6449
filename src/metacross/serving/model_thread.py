"""The one thread that owns the model: it loads it and labels batches from the queue."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from metacross.adaptation.ner_model import NerModel
from metacross.model.remembered import sentence_id
from metacross.serving.batching_queue import BatchingQueue, Lane, Part, Work
from metacross.text.sentence import Sentence

_LOG = logging.getLogger("metacross.serving")


class ModelThread(threading.Thread):
    """Labels work from a queue until the queue is closed and empty.

    The fast engine replaces parts of the network while it runs, so no other thread may use the
    model. ``on_labeled`` is called with the lane and the number of sentences of each batch,
    ``on_end`` when the thread ends.
    """

    def __init__(
        self,
        load: Callable[[], NerModel],
        queue: BatchingQueue,
        *,
        on_labeled: Callable[[Lane, int], None] = lambda _lane, _n: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name="metacross-model", daemon=True)
        self._load = load
        self._queue = queue
        self._on_labeled = on_labeled
        self._on_end = on_end
        self.model: NerModel | None = None
        """The model once it is loaded."""
        self.problem: Exception | None = None
        """Why the model cannot be loaded."""

    @property
    def gradient_cache_bytes(self) -> int:
        """Memory of the recorded gradients."""
        return 0 if self.model is None else self.model.gradient_cache_bytes

    def run(self) -> None:
        """Load the model, then label."""
        try:
            model = self._load()
            _warm_up(model)
            self.model = model
            while parts := self._queue.take():
                self._label_parts(model, parts)
        except Exception as problem:  # noqa: BLE001 - the thread that serves raises it
            self.problem = problem
        finally:
            self._queue.close()
            self._queue.drop_all()
            self._on_end()

    def _label_parts(self, model: NerModel, parts: Sequence[Part]) -> None:
        """Label parts together; if that fails, label each by itself, so that only one fails."""
        parts = [part for part in parts if not part.work.done.cancelled()]
        if not parts:
            return
        lane = parts[0].work.lane
        sentences = [sentence for part in parts for sentence in part.sentences]
        try:
            results = _labeled(model, lane, sentences)
        except Exception as problem:  # noqa: BLE001 - the thread lives on, the request fails
            if len(parts) > 1:
                for part in parts:
                    self._label_parts(model, [part])
                return
            _LOG.error("a batch of %d sentences failed", len(sentences), exc_info=problem)
            if parts[0].work.done.set_running_or_notify_cancel():
                parts[0].work.done.set_exception(problem)
            return
        self._on_labeled(lane, len(sentences))
        remaining = iter(results)
        for part in parts:
            _give(part.work, list(islice(remaining, len(part.sentences))))


def _labeled(model: NerModel, lane: Lane, sentences: Sequence[Sentence]) -> list[Any]:
    if lane == "why":
        return [model.explain(sentence) for sentence in sentences]
    if lane == "remember":
        return list(model.remember(sentences, save=True))
    if lane == "forget":
        forgotten = {item.id: item for item in model.forget(sentences, save=True)}
        return [forgotten.get(sentence_id(sentence)) for sentence in sentences]
    return list(model.predict_stream(sentences, adapt=lane == "adapted"))


def _give(work: Work, results: list[Any]) -> None:
    """Add results to a work; with the last ones it is done."""
    work.results += results
    if len(work.results) == len(work.sentences) and work.done.set_running_or_notify_cancel():
        work.done.set_result(work.results)


def _warm_up(model: NerModel) -> None:
    """Label a sentence, so that index and engine are ready before the first request."""
    sentence = Sentence(("Paris",))
    list(model.predict_stream([sentence], adapt=False))
    if model.parts.datastore is not None:
        list(model.predict_stream([sentence], adapt=True))
