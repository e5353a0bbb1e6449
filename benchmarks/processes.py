"""Measures trainings that processes of torchrun share: their weights, and their speed.

python -m benchmarks.processes --write   # processes.json and docs/how-to/several-processes.md
python -m benchmarks.processes --quick   # five minutes, to check that it works

The bundled encoder is trained on the bundled English corpus, with steps of 32 tasks or sentences.
Each process has one thread; ``metacross train`` without torchrun has as many as there are cores.
The launches follow each other in turns, about twenty minutes on two free cores. The time of a step
is that between two lines of the log, so that it is without start and preparation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.measuring import load_line, machine_line, summary
from benchmarks.server_page import write_block
from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.writing import write_atomically, write_corpus

RESULTS = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "several-processes.md"
METHODS = {
    "meta, Adam": ("mini", "meta.inner_optimizer=adam"),
    "meta, normalized": ("mini", "meta.inner_optimizer=normalized"),
    "direct": ("mini,direct",),
}
"""Recipe and overrides by method."""
PLAIN = "without torchrun"
LAUNCHES: dict[str, tuple[int | None, int | None]] = {
    PLAIN: (None, None),
    "1 process": (1, None),
    "2 processes": (2, None),
    "4 processes": (4, None),
    "2 processes, 2 blocks": (2, 2),
}
"""Number of processes and of blocks; None: no torchrun, and the default."""


def main() -> None:
    """Measure, print tables as Markdown, and write all figures as JSON."""
    parser = argparse.ArgumentParser(description="Measure trainings that processes share.")
    parser.add_argument("--quick", action="store_true", help="few steps, small and once")
    parser.add_argument("--write", action="store_true", help="write the figures and the page")
    options = parser.parse_args()
    load, figures = load_line(), {}
    for method in METHODS:
        figures[method] = measure(
            method,
            steps=3 if options.quick else 8,
            n_items=8 if options.quick else 32,
            repeats=1 if options.quick else 3,
        )
        sys.stdout.write(as_markdown(method, figures[method]) + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{machine_line()}; {load}\n")
    if options.write:
        record = {"machine": machine_line(), "load": load, "methods": figures}
        write_atomically(RESULTS, [json.dumps(record, indent=1), "\n"])
        tables = [as_markdown(method, rows) for method, rows in figures.items()]
        write_block("processes", "\n".join([*tables, f"{machine_line()}; {load}."]), PAGE)


def measure(method: str, *, steps: int, n_items: int, repeats: int) -> dict[str, dict[str, Any]]:
    """By launch: the digests of its weights, and its times per step beside those of one process."""
    seconds: dict[str, list[float]] = {launch: [] for launch in LAUNCHES}
    digests: dict[str, set[str]] = {launch: set() for launch in LAUNCHES}
    for _ in range(repeats):
        for launch in LAUNCHES:
            with tempfile.TemporaryDirectory(prefix="metacross-") as folder:
                digest, times = _trained(launch, method, steps, n_items, Path(folder))
            digests[launch].add(digest)
            seconds[launch].append(statistics.median(times))
    times_by_launch = summary(seconds, "1 process")
    return {
        launch: {"digests": sorted(digests[launch]), **times_by_launch[launch]}
        for launch in LAUNCHES
    }


def _trained(
    launch: str, method: str, steps: int, n_items: int, folder: Path
) -> tuple[str, list[float]]:
    """Train in new processes: the digest of the weights, and the seconds of each step."""
    n_processes, blocks = LAUNCHES[launch]
    recipe, *overrides = METHODS[method]
    overrides += [f"meta.steps={steps}", f"direct.steps={steps}", f"run.validate_every={steps}"]
    overrides += [f"meta.tasks_per_step={n_items}", f"direct.batch_size={n_items}"]
    overrides += ["run.device=cpu", *([] if blocks is None else [f"run.blocks={blocks}"])]
    for part in ("train", "dev"):
        write_corpus(bundled_corpus("en", part), folder / f"{part}.jsonl")
    command = [sys.executable, "-m"]
    if n_processes is not None:
        command += ["torch.distributed.run", "--standalone"]
        command += [f"--nproc-per-node={n_processes}", "-m"]
    command += ["metacross", "train", recipe, f"--output={folder / 'model'}"]
    command += [f"--source={folder / 'train.jsonl'}", f"--dev={folder / 'dev.jsonl'}"]
    command += [f"--set={override}" for override in overrides]
    threads = 1 if n_processes is not None else len(os.sched_getaffinity(0))
    variables = {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    subprocess.run(command, env=os.environ | variables, check=True, capture_output=True)
    weights = (folder / "model" / "model.safetensors").read_bytes()
    log = (folder / "model" / "training" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    ends = [line["time"] for line in map(json.loads, log) if "loss" in line]
    return hashlib.sha256(weights).hexdigest()[:12], [end - start for start, end in pairwise(ends)]


def as_markdown(method: str, figures: dict[str, dict[str, Any]]) -> str:
    """A row for each launch; the speed-up is over one process of torchrun."""
    lines = [f"| {method} | digest of the weights | ms per step | speed-up |", "|---|---|---|---|"]
    for launch, row in figures.items():
        lines.append(
            f"| {launch} | {', '.join(row['digests'])} | {row['milliseconds']:.0f} "
            f"| {1 / row['ratio']:.2f} ({1 / row['highest_ratio']:.2f} to "
            f"{1 / row['lowest_ratio']:.2f}) |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
