"""Peak memory of one kind of work, in a process that does nothing else.

python -m benchmarks.memory adapted mbert 64
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

KINDS = ("plain", "adapted", "textbook", "exact", "faiss")


def measure(kind: str, size: str, n: int) -> float:
    """Peak megabytes of a new process."""
    command = [sys.executable, "-m", "benchmarks.memory", kind, size, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    megabytes: float = json.loads(done.stdout.splitlines()[-1])["megabytes"]
    return megabytes


def _work(kind: str, size: str, n: int) -> None:
    if kind in ("exact", "faiss"):
        from benchmarks.retrieval import sentences_like
        from metacross.adaptation.retrieval import build_index

        index = build_index(sentences_like(n, 1), "exact" if kind == "exact" else "faiss")
        index.nearest(sentences_like(1_000, 2), k=2)
        return
    from benchmarks.sizes import foreign_sentences, new_model
    from metacross.adaptation.ner_model import NerModel

    model = new_model(size, "none" if kind == "plain" else "own")
    engine: Any = "textbook" if kind == "textbook" else "fast"
    list(
        NerModel(model, engine=engine).predict_stream(
            foreign_sentences()[:n], adapt=kind != "plain"
        )
    )


def _peak() -> float:
    """The peak of this process; that of getrusage would begin with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    _work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    sys.stdout.write(json.dumps({"megabytes": _peak()}) + "\n")
