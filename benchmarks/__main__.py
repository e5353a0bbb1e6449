"""Runs all benchmarks and writes results.json, results.md and the plots beside this file.

python -m benchmarks            # about half an hour on two cores
python -m benchmarks --quick    # a minute, to see that all of it works; writes nothing
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import adaptation, end_to_end, memory, meta_training, retrieval
from benchmarks.measuring import machine
from benchmarks.plots import write_plots
from benchmarks.tables import as_markdown
from metacross.text.writing import write_whole

FOLDER = Path(__file__).parent


def main() -> None:
    """Measure, part after part."""
    parser = argparse.ArgumentParser(description="Measure metacross.")
    parser.add_argument("--quick", action="store_true", help="a little of everything, not kept")
    quick: bool = parser.parse_args().quick
    results = quick_results() if quick else full_results()
    if quick:
        sys.stdout.write(as_markdown(results))
        return
    write_whole(FOLDER / "results.json", [json.dumps(results, indent=1), "\n"])
    write_whole(FOLDER / "results.md", [as_markdown(results)])
    write_plots(results, FOLDER)
    sys.stdout.write(as_markdown(results))


def full_results() -> dict[str, Any]:
    """All figures."""
    results: dict[str, Any] = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    _say("adaptation, bundled encoder")
    mini = adaptation.measure("mini", repeats=7, n_tests=500)
    _say("adaptation, mBERT size")
    mbert = adaptation.measure("mbert", repeats=3, n_tests=500)
    results["adaptation"] = {"mini": mini, "mbert": mbert}
    _say("meta-training")
    results["meta_training"] = {
        "mini": meta_training.measure("mini", repeats=7, n_tasks=24),
        "mbert": meta_training.measure("mbert", repeats=5, n_tasks=4),
    }
    _say("end to end")
    results["end_to_end"] = {
        "mini": end_to_end.measure("mini", repeats=5, n_tests=500),
        "mbert": end_to_end.measure("mbert", repeats=1, n_tests=200),
    }
    _say("growth")
    results["growth"] = adaptation.growth(repeats=5, n_tests=96)
    _say("retrieval")
    results["retrieval"] = {
        str(n): retrieval.measure(n, repeats=3 if n < 10**6 else 1)
        for n in (10_000, 100_000, 1_000_000)
    }
    _say("memory")
    kinds = ("plain", "adapted", "textbook")
    results["memory"] = {
        **{f"{kind} mbert 64": memory.measure(kind, "mbert", 64) for kind in kinds},
        "adapted mbert 192": memory.measure("adapted", "mbert", 192),
        **{f"{kind} mini 500": memory.measure(kind, "mini", 500) for kind in kinds},
        "exact search 1000000": memory.measure("exact", "mini", 1_000_000),
        "faiss search 1000000": memory.measure("faiss", "mini", 1_000_000),
    }
    return results


def quick_results() -> dict[str, Any]:
    """A little of everything, with the bundled encoder."""
    return {
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "adaptation": {"mini": adaptation.measure("mini", repeats=1, n_tests=12)},
        "meta_training": {"mini": meta_training.measure("mini", repeats=1, n_tasks=2)},
        "end_to_end": {"mini": end_to_end.measure("mini", repeats=1, n_tests=12)},
        "growth": adaptation.growth(repeats=1, n_tests=8),
        "retrieval": {"2000": retrieval.measure(2_000, repeats=1)},
        "memory": {"adapted mini 8": memory.measure("adapted", "mini", 8)},
    }


def _say(what: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")


if __name__ == "__main__":
    main()
