"""Peak memory of one kind of work, in a process that does nothing else.

python -m benchmarks.memory adapted mbert 64
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
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
        from metacross.transfer.retrieval import index_of

        index = index_of(sentences_like(n, 1), "exact" if kind == "exact" else "faiss")
        index.nearest(sentences_like(1_000, 2), k=2)
        return
    from benchmarks.sizes import foreign_sentences, new_model
    from metacross.transfer.recogniser import Recogniser

    model = new_model(size, "none" if kind == "plain" else "own")
    engine: Any = "textbook" if kind == "textbook" else "fast"
    list(
        Recogniser(model, engine=engine).predict_all(foreign_sentences()[:n], adapt=kind != "plain")
    )


if __name__ == "__main__":
    _work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"megabytes": peak}) + "\n")
