"""Counts and times of a server, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ServerMetrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "metacross_requests", "Answered requests.", ["path", "code"], registry=self._registry
        )
        self._seconds = Histogram(
            "metacross_seconds",
            "Seconds from request to answer.",
            ["path"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._sentences = Counter(
            "metacross_sentences", "Labeled sentences.", ["adapted"], registry=self._registry
        )
        self._dropped = Counter(
            "metacross_dropped_requests",
            "Requests whose client left before the answer.",
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)

    def watch(self, *, queue_pieces: Callable[[], int], gradient_cache: Callable[[], int]) -> None:
        """Read these values whenever the metrics are read."""
        for name, help_text, value in (
            ("metacross_queue_pieces", "Pieces that wait or are being labeled.", queue_pieces),
            (
                "metacross_gradient_cache_bytes",
                "Memory of the recorded gradients.",
                gradient_cache,
            ),
        ):
            Gauge(name, help_text, registry=self._registry).set_function(value)

    def answered(self, path: str, code: int, seconds: float) -> None:
        """Count an answer. ``path`` is one of the server's own, never one from a request."""
        self._requests.labels(path, str(code)).inc()
        self._seconds.labels(path).observe(seconds)

    def labeled(self, lane: str, n_sentences: int) -> None:
        """Count labeled sentences; those that were only remembered or forgotten do not count."""
        if lane in ("remember", "forget"):
            return
        adapted = "false" if lane == "plain" else "true"
        self._sentences.labels(adapted).inc(n_sentences)

    def dropped(self) -> None:
        """Count a request whose client left."""
        self._dropped.inc()

    def as_text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)
