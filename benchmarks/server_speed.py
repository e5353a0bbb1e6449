"""Measures the server: throughput beside ``predict_stream``, and latency by length of text.

python -m benchmarks.server_speed            # prints the tables, in minutes
python -m benchmarks.server_speed --write    # and writes them to docs/how-to/serve.md
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import time
from collections.abc import Sequence

import metacross
from benchmarks.measuring import load_line, machine_line
from benchmarks.served import Connection, demo_model, server, test_texts
from benchmarks.server_page import write_block

CLIENTS = 32
REPEATS = 3
LENGTHS = (50, 200, 1_000, 5_000)
SENTENCES = 160


def stream_seconds(model: metacross.NerModel, texts: Sequence[str]) -> float:
    """The time of ``predict_stream``, without splitting into sentences."""
    start = time.perf_counter()
    list(model.predict_stream(texts, adapt=True))
    return time.perf_counter() - start


async def processor_seconds(port: int) -> float:
    """The processor time that the server has used."""
    connection = Connection(port)
    metrics = (await connection.get("/metrics")).body.decode()
    connection.close()
    found = re.search(r"^process_cpu_seconds_total (\S+)", metrics, re.MULTILINE)
    if found is None:
        raise RuntimeError("expected the processor time in /metrics")
    return float(found[1])


async def http_seconds(port: int, texts: Sequence[str], n_clients: int) -> float:
    """The time until all texts are answered; each client sends one text after another."""
    remaining = iter(texts)
    connections = [Connection(port) for _ in range(n_clients)]

    async def client(connection: Connection) -> None:
        for text in remaining:
            answer = await connection.post("/v1/predict", {"texts": [text], "adapt": True})
            if answer.status != 200:
                raise RuntimeError(answer.body.decode())

    start = time.perf_counter()
    await asyncio.gather(*map(client, connections))
    seconds = time.perf_counter() - start
    for connection in connections:
        connection.close()
    return seconds


def throughput_table(port: int, texts: Sequence[str]) -> str:
    """Both ways in turn, and their ratio within each repeat."""
    model = metacross.load(demo_model(), device="cpu")
    stream_seconds(model, texts)  # both have recorded the source sentences before
    asyncio.run(http_seconds(port, texts, CLIENTS))
    lines = [
        f"| run | time | `predict_stream` | HTTP, {CLIENTS} clients | ratio |",
        "|---|---|---:|---:|---:|",
    ]
    for number in range(1, REPEATS + 1):
        used = time.process_time()
        wall = [len(texts) / stream_seconds(model, texts)]
        processor = [len(texts) / (time.process_time() - used)]
        used = asyncio.run(processor_seconds(port))
        wall.append(len(texts) / asyncio.run(http_seconds(port, texts, CLIENTS)))
        processor.append(len(texts) / (asyncio.run(processor_seconds(port)) - used))
        for what, (direct, http) in (("clock", wall), ("processor", processor)):
            ratio = f"{http / direct:.0%}"
            lines.append(f"| {number} | {what} | {direct:.1f} | {http:.1f} | {ratio} |")
            _log(lines[-1])
    return "\n".join(lines)


async def latencies(port: int, text: str, *, adapt: bool, n: int) -> list[float]:
    """Milliseconds of requests, one after another on one connection."""
    connection = Connection(port)
    milliseconds = []
    for _ in range(n):
        start = time.perf_counter()
        answer = await connection.post("/v1/predict", {"texts": [text], "adapt": adapt})
        milliseconds.append(1_000 * (time.perf_counter() - start))
        if answer.status != 200:
            raise RuntimeError(answer.body.decode())
    connection.close()
    return milliseconds


def latency_table(port: int, texts: Sequence[str]) -> str:
    """Median and 95th percentile by length of the text, for one client."""
    spanish = " ".join([*texts[::5]] * 20)
    lines = [
        "| characters | adapted: median, p95 (ms) | plain: median, p95 (ms) |",
        "|---:|---:|---:|",
    ]
    for length in LENGTHS:
        text = spanish[:length]
        n = max(5, min(20, 5_000 // length))
        cells = []
        for adapt in (True, False):
            times = asyncio.run(latencies(port, text, adapt=adapt, n=n))
            p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
            cells.append(f"{statistics.median(times):,.0f}, {p95:,.0f}")
        lines.append(f"| {length:,} | {cells[0]} | {cells[1]} |")
        _log(lines[-1])
    return "\n".join(lines)


def _log(line: str) -> None:
    sys.stderr.write(line + "\n")


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    texts, load = test_texts()[:SENTENCES], load_line()
    with server(demo_model(), "--seconds", "120") as (_, port):
        throughput = throughput_table(port, texts)
        latency = latency_table(port, texts)
    note = (
        f"Sentences per second of the clock and of processor time (of the server, without the "
        f"clients). {len(texts)} test sentences of the bundled corpus (5 languages), demo model "
        f"(seed 0), adapted, one sentence in a request; {machine_line()}; {load}."
    )
    for name, table in (("throughput", f"{throughput}\n\n{note}"), ("latency", latency)):
        sys.stdout.write(f"{table}\n\n")
        if write:
            write_block(name, table)


if __name__ == "__main__":
    main()
