"""Measures how much slower metacross is beside another process that keeps a core busy.

python -m benchmarks.shared_machine            # the demo and adapted prediction, 10 minutes
python -m benchmarks.shared_machine --write    # and write shared_machine.json
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measuring import machine
from metacross.text.writing import write_atomically

FILE = Path(__file__).parent / "shared_machine.json"
_SPIN = "while True: pass"
_PREDICT = """
import sys, metacross
model = metacross.load(sys.argv[1])
spanish = metacross.bundled_corpus("es", "test")
for _ in range(4):
    for _ in model.predict_stream(spanish): pass
"""


def main() -> None:
    """Run both alone and beside a spinning process, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write shared_machine.json")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    seconds: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(arguments.repeats):
            for mode in ("alone", "beside"):
                output = Path(folder) / f"demo-{repeat}-{mode}"
                with _neighbor(mode):
                    demo = _seconds([sys.executable, "-m", "metacross", "demo", "--output", output])
                    (model,) = (output / "runs").glob("ours_*")
                    predict = _seconds([sys.executable, "-c", _PREDICT, model])
                for name, value in (("demo", demo), ("predict", predict)):
                    seconds.setdefault(name, {}).setdefault(mode, []).append(round(value, 1))
                    sys.stderr.write(f"{name} {mode}: {value:.1f} s\n")
    results = {
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "load_before": round(os.getloadavg()[2], 2),
        **{name: _summary(modes) for name, modes in seconds.items()},
    }
    text = json.dumps(results, indent=1) + "\n"
    sys.stdout.write(text)
    if arguments.write:
        write_atomically(FILE, [text])


def _summary(modes: dict[str, list[float]]) -> dict[str, object]:
    alone, beside = (statistics.median(modes[mode]) for mode in ("alone", "beside"))
    return {**modes, "ratio": round(beside / alone, 2)}


def _seconds(command: list[object]) -> float:
    start = time.monotonic()
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return time.monotonic() - start


@contextmanager
def _neighbor(mode: str) -> Iterator[None]:
    """Inside the block another process spins, if the mode says so."""
    if mode == "alone":
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", _SPIN])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
