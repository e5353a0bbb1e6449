"""Measures the peak memory of a process that does one kind of work.

python -m benchmarks.memory adapted mbert 64
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any


def measure(kind: str, size: str, n_sentences: int) -> float:
    """The peak memory of a new process in MB."""
    command = [sys.executable, "-m", "benchmarks.memory", kind, size, str(n_sentences)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    megabytes: float = json.loads(process.stdout.splitlines()[-1])["megabytes"]
    return megabytes


def _work(kind: str, size: str, n_sentences: int) -> None:
    if kind in ("exact", "faiss"):
        from benchmarks.retrieval import synthetic_vectors
        from metacross.adaptation.retrieval import build_index
        from metacross.settings import RetrievalSettings

        vectors = synthetic_vectors(n_sentences, seed=1)
        index = build_index(vectors, RetrievalSettings(search=kind))
        index.nearest(synthetic_vectors(1_000, seed=2), k=2)
        return
    from benchmarks.sizes import foreign_sentences, new_model
    from metacross.adaptation.ner_model import NerModel
    from metacross.settings import settings_with

    model = new_model(size, "none" if kind == "plain" else "pretrained")
    if kind == "normalized":
        settings = settings_with(model.settings, {"adaptation": {"optimizer": "normalized"}})
        model = replace(model, settings=settings)
    engine: Any = "textbook" if kind == "textbook" else "fast"
    sentences = foreign_sentences()[:n_sentences]
    list(NerModel(model, engine=engine).predict_stream(sentences, adapt=kind != "plain"))


def peak_megabytes() -> float:
    """The peak memory of this process; getrusage would include that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    _work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    sys.stdout.write(json.dumps({"megabytes": peak_megabytes()}) + "\n")
