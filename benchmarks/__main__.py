"""Runs all benchmarks and writes results.json, results.md and the plots to this folder.

python -m benchmarks            # about 40 minutes on two cores
python -m benchmarks --quick    # a minute, to check that everything works; writes no files
python -m benchmarks --render   # rewrites results.md and the plots from results.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import adaptation, end_to_end, memory, meta_training, retrieval
from benchmarks.measuring import machine
from benchmarks.plots import write_plots
from benchmarks.tables import as_markdown
from metacross.text.writing import write_atomically

FOLDER = Path(__file__).parent
FIGURES = FOLDER.parent / "docs" / "figures"
MEMORY_WORK = (
    "plain mbert 64",
    "adapted mbert 64",
    "adapted mbert 192",
    "normalized mbert 192",
    "textbook mbert 64",
    "plain mini 500",
    "adapted mini 500",
    "normalized mini 500",
    "textbook mini 500",
)
"""Kind of work, size of the model and number of sentences."""


def main() -> None:
    """Run the benchmarks that the command line asks for."""
    parser = argparse.ArgumentParser(description="Measure the speed and the memory of metacross.")
    parser.add_argument(
        "--quick", action="store_true", help="measure a little of everything; write no files"
    )
    parser.add_argument("--only", nargs="+", choices=list(PARTS), help="measure only these parts")
    parser.add_argument("--render", action="store_true", help="render results.json; do not measure")
    arguments = parser.parse_args()
    if arguments.quick:
        sys.stdout.write(as_markdown(quick_results()))
        return
    results: dict[str, Any] = {}
    if arguments.only or arguments.render:
        results = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    if not arguments.render:
        _measure(arguments.only or list(PARTS), results)
    write_atomically(FOLDER / "results.md", [as_markdown(results)])
    write_plots(results, FOLDER, FIGURES)
    sys.stdout.write(as_markdown(results))


def _measure(names: list[str], results: dict[str, Any]) -> None:
    """Add measurements to the results and write results.json after each of them."""
    results |= {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    for name in names:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {name}\n")
        part, _, size = name.partition(" ")
        if size:
            results[part] = {**results.get(part, {}), size: PARTS[name]()}
        else:
            results[part] = PARTS[name]()
        write_atomically(FOLDER / "results.json", [json.dumps(results, indent=1), "\n"])


def _peaks(works: Sequence[str]) -> dict[str, float]:
    """Peak memory of a process for each kind of work, model and number of sentences."""
    parts = (work.split() for work in works)
    return {" ".join(part): memory.measure(part[0], part[1], int(part[2])) for part in parts}


PARTS: dict[str, Callable[[], Any]] = {
    "adaptation mini": lambda: adaptation.measure("mini", repeats=7, n_tests=500),
    "adaptation mbert": lambda: adaptation.measure("mbert", repeats=3, n_tests=150),
    "normalized mini": lambda: adaptation.measure_normalized("mini", repeats=7, n_tests=500),
    "normalized mbert": lambda: adaptation.measure_normalized("mbert", repeats=3, n_tests=160),
    "parts mini": lambda: adaptation.measure_parts("mini", repeats=3, n_tests=500),
    "parts mbert": lambda: adaptation.measure_parts("mbert", repeats=1, n_tests=256),
    "meta_training mini": lambda: meta_training.measure("mini", repeats=5, n_tasks=32),
    "meta_training mbert": lambda: meta_training.measure("mbert", repeats=2, n_tasks=6),
    "end_to_end mini": lambda: end_to_end.measure("mini", repeats=5, n_tests=2_000, n_adam=500),
    "end_to_end mbert": lambda: end_to_end.measure("mbert", repeats=1, n_tests=2_000, n_adam=100),
    "source_growth": lambda: end_to_end.growth(
        repeats=1, n_tests=1_000, source_sizes=(500, 2_000, 8_000)
    ),
    "growth": lambda: adaptation.growth(repeats=1, n_tests=96),
    "retrieval": lambda: {
        str(n): retrieval.measure(n, repeats=3 if n < 10**6 else 1)
        for n in (10_000, 100_000, 1_000_000)
    },
    "memory": lambda: _peaks(MEMORY_WORK),
    "memory_of_search": lambda: _peaks(("exact search 1000000", "faiss search 1000000")),
}
"""What is measured, in this order; the second word of a name is the size of the model."""


def quick_results() -> dict[str, Any]:
    """A few measurements of everything, with the bundled encoder."""
    return {
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "adaptation": {"mini": adaptation.measure("mini", repeats=1, n_tests=12)},
        "normalized": {"mini": adaptation.measure_normalized("mini", repeats=1, n_tests=12)},
        "parts": {"mini": adaptation.measure_parts("mini", repeats=1, n_tests=12)},
        "meta_training": {"mini": meta_training.measure("mini", repeats=1, n_tasks=2)},
        "end_to_end": {"mini": end_to_end.measure("mini", repeats=1, n_tests=12, n_adam=4)},
        "source_growth": end_to_end.growth(repeats=1, n_tests=12, source_sizes=(50,)),
        "growth": adaptation.growth(repeats=1, n_tests=8),
        "retrieval": {"2000": retrieval.measure(2_000, repeats=1)},
        "memory": _peaks(["adapted mini 8"]),
        "memory_of_search": {},
    }


if __name__ == "__main__":
    main()
