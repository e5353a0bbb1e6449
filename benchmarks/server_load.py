"""Puts a server under mixed load for minutes, then stops it with SIGTERM.

python -m benchmarks.server_load --minutes 20            # prints the table
python -m benchmarks.server_load --minutes 20 --write    # and writes it to docs/how-to/serve.md

Clients send texts of many lengths, wrong requests, and requests that they do not wait for. Every
answer to a good request is compared with ``model.predict``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

import metacross
from benchmarks.measuring import load_line, machine_line
from benchmarks.served import Answer, Connection, demo_model, server, test_texts
from benchmarks.server_page import write_block

GOOD_CLIENTS, BAD_CLIENTS, LEAVING_CLIENTS = 8, 2, 2
BAD = (
    b"hello",
    b"{}",
    b'{"texts": [1]}',
    b'{"texts": ["a"], "model": "/etc/passwd"}',
    b'{"texts": ["\\ud800"]}',
    b"[" * 50_000,
    b'{"texts": [' + b"1," * 200_000 + b"1]}",
    b'{"texts": ["' + b"a" * 2_000_000 + b'"]}',
)
LOST = (OSError, asyncio.IncompleteReadError)

Found: TypeAlias = list[list[tuple[int, int, str]]]
"""Start, end and label of the entities of each text."""


@dataclass(frozen=True, slots=True)
class GoodRequest:
    """A request with the entities that the model predicts for it."""

    texts: tuple[str, ...]
    adapt: bool
    entities: Found

    @property
    def body(self) -> bytes:
        """The body of the request."""
        return json.dumps({"texts": self.texts, "adapt": self.adapt}).encode()


@dataclass(slots=True)
class Observed:
    """What happened in a run; ``memory`` has minutes and MiB."""

    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    health: list[float] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    n_wrong: int = 0
    n_lost: int = 0
    n_left: int = 0


def good_requests(model: metacross.NerModel, n: int) -> list[GoodRequest]:
    """Requests of one sentence, of several, of a paragraph and of a document."""
    rng, texts = random.Random(0), test_texts()
    requests = []
    for number in range(n):
        size, is_document = ((1, False), (1, False), (6, False), (5, True), (20, True))[number % 5]
        chosen = rng.sample(texts, size)
        given = ("\n".join(chosen),) if is_document else tuple(chosen)
        adapt = number % 4 != 3
        entities = [
            [(e.start, e.end, e.label) for e in prediction.entities]
            for prediction in model.predict(given, adapt=adapt)
        ]
        requests.append(GoodRequest(given, adapt, entities))
    return requests


class LoadRun:
    """Clients of a server until the time is over or the server is gone."""

    def __init__(self, port: int, requests: Sequence[GoodRequest], minutes: float) -> None:
        self._port = port
        self._requests = requests
        self._minutes = minutes
        self._stopped = False
        self.observed = Observed()

    async def run(self, process: subprocess.Popen[str]) -> None:
        """Let all clients work; when the time is over, stop the server under them."""
        clients = [asyncio.create_task(self._good_client(n)) for n in range(GOOD_CLIENTS)]
        clients += [asyncio.create_task(self._bad_client(n)) for n in range(BAD_CLIENTS)]
        clients += [asyncio.create_task(self._leaving_client(n)) for n in range(LEAVING_CLIENTS)]
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as watchers:
            watching = asyncio.get_running_loop().run_in_executor(
                watchers, watched, self._port, self._minutes
            )
            self.observed.health, self.observed.memory = await watching
        process.send_signal(signal.SIGTERM)
        self._stopped = True
        await asyncio.gather(*clients)

    async def _good_client(self, seed: int) -> None:
        """Send good requests and compare their answers, until the server refuses them."""
        rng, connection = random.Random(seed), Connection(self._port)
        while True:
            request = rng.choice(self._requests)
            try:
                answer = await connection.send("POST", "/v1/predict", request.body)
            except LOST:
                if self._stopped:
                    return
                self.observed.n_lost += 1
                continue
            self.observed.codes["good", answer.status] += 1
            if answer.status == 503 and self._stopped:
                return
            if answer.status == 200 and entities_of(answer) != request.entities:
                self.observed.n_wrong += 1

    async def _bad_client(self, seed: int) -> None:
        rng, connection = random.Random(seed), Connection(self._port)
        while not self._stopped:
            try:
                answer = await connection.send("POST", "/v1/predict", rng.choice(BAD))
                self.observed.codes["bad", answer.status] += 1
            except LOST:
                self.observed.n_lost += not self._stopped
            await asyncio.sleep(rng.uniform(0.1, 1.0))

    async def _leaving_client(self, seed: int) -> None:
        """Send good requests and leave before the answer."""
        rng, connection = random.Random(seed), Connection(self._port)
        while not self._stopped:
            try:
                await connection.start("POST", "/v1/predict", rng.choice(self._requests).body)
            except LOST:
                self.observed.n_lost += not self._stopped
            await asyncio.sleep(rng.uniform(0.0, 0.3))
            connection.close()
            self.observed.n_left += 1
            await asyncio.sleep(rng.uniform(0.2, 1.0))


def watched(port: int, minutes: float) -> tuple[list[float], list[tuple[float, float]]]:
    """Milliseconds of ``/healthz``, asked ten times a second, and memory every ten seconds.

    Runs in a process of its own, so that the clients' work is not measured.
    """
    return asyncio.run(_watched(port, minutes))


async def _watched(port: int, minutes: float) -> tuple[list[float], list[tuple[float, float]]]:
    connection, start, next_sample = Connection(port), time.monotonic(), 0.0
    health, memory = [], []
    while (now := (time.monotonic() - start) / 60) < minutes:
        asked = time.perf_counter()
        await connection.get("/healthz")
        health.append(1_000 * (time.perf_counter() - asked))
        if now >= next_sample:
            next_sample = now + 1 / 6
            memory.append((now, await _mebibytes(connection)))
        await asyncio.sleep(0.1)
    connection.close()
    return health, memory


async def _mebibytes(connection: Connection) -> float:
    metrics = (await connection.get("/metrics")).body.decode()
    found = re.search(r"^process_resident_memory_bytes (\S+)", metrics, re.MULTILINE)
    if found is None:
        raise RuntimeError("expected the memory of the process in /metrics")
    return float(found[1]) / 2**20


def entities_of(answer: Answer) -> Found:
    """The entities in an answer of ``/v1/predict``."""
    return [
        [(e["start"], e["end"], e["label"]) for e in result["entities"]]
        for result in answer.json["results"]
    ]


def table(observed: Observed, minutes: float, last_line: str, load: str) -> str:
    """What was observed, as Markdown; ``load`` says how busy the machine was before."""
    codes = observed.codes
    n_good = sum(n for (kind, _), n in codes.items() if kind == "good")
    bad = ", ".join(f"{n:,} × {code}" for (kind, code), n in sorted(codes.items()) if kind == "bad")
    thirds = [observed.memory[i * len(observed.memory) // 3 :] for i in range(3)]
    first_minute = [mib for minute, mib in observed.memory if minute < 1]
    health = statistics.quantiles(observed.health, n=100, method="inclusive")
    rows = {
        "minutes": f"{minutes:g}",
        "clients": f"{GOOD_CLIENTS} good, {BAD_CLIENTS} wrong, {LEAVING_CLIENTS} leaving",
        "good requests": f"{n_good:,}",
        "answered with 200": f"{codes['good', 200]:,}",
        "refused after SIGTERM (503)": f"{codes['good', 503]:,}",
        "other answers to good requests": f"{n_good - codes['good', 200] - codes['good', 503]:,}",
        "answers that differ from `model.predict`": f"{observed.n_wrong:,}",
        "connections lost before SIGTERM": f"{observed.n_lost:,}",
        "clients that left": f"{observed.n_left:,}",
        "wrong requests": bad,
        "`/healthz`: median, p99, largest (ms)": (
            f"{statistics.median(observed.health):.1f}, {health[98]:.1f}, "
            f"{max(observed.health):.1f} ({len(observed.health):,} requests)"
        ),
        "memory: first minute, middle third, last third (MiB, mean)": (
            f"{statistics.mean(first_minute):,.0f}, "
            f"{statistics.mean(mib for _, mib in thirds[1][: len(thirds[2])]):,.0f}, "
            f"{statistics.mean(mib for _, mib in thirds[2]):,.0f}"
        ),
        "last line of the server": f"`{last_line}`",
    }
    lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]
    note = f"Demo model (seed 0), bundled test sentences; {machine_line()}; {load}."
    return "\n".join([*lines, "", note])


def main() -> None:
    """Run, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder, load = demo_model(), load_line()
    requests = good_requests(metacross.load(folder, device="cpu"), 40)
    with server(folder, "--seconds", "300") as (process, port):
        run = LoadRun(port, requests, options.minutes)
        asyncio.run(run.run(process))
        process.wait(60)
        last_line = (process.stdout or sys.stdin).read().strip().splitlines()[-1]
    measured = table(run.observed, options.minutes, last_line, load)
    sys.stdout.write(measured + "\n")
    if options.write:
        write_block("load", measured)


if __name__ == "__main__":
    main()
