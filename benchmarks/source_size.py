"""Measures time and peak memory by the number of source sentences, with the bundled encoder.

python -m benchmarks.source_size 20000 100000     # about 2 and 10 minutes on two cores
python -m benchmarks.source_size 1000000          # about an hour and a half
python -m benchmarks.source_size --render         # writes the table to docs/scale.md

A source corpus is made by varying the bundled one with a seed. Every stage is a process of its own:
train a model (ten steps, so that it is reading, vectors and saving that is measured), find the
tasks that all 1,600 steps of the recipe ``mini`` draw, load the model and predict 100 foreign
sentences with adaptation, build a faiss index and search it. Results go to source_size.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.memory import peak_megabytes

if TYPE_CHECKING:
    from metacross.text.sentence import Sentence

RESULTS = Path(__file__).with_name("source_size.json")
PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
BEGIN = "<!-- python -m benchmarks.source_size --render -->\n"
END = "<!-- end -->\n"
Cell: TypeAlias = Callable[[dict[str, Any]], str]
_SEED, _STEPS, _N_TESTS, _N_SEARCHED = 0, 10, 100, 1_000


class Watch:
    """Wall-clock and processor seconds since the last lap."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def lap(self) -> dict[str, float]:
        """The seconds since the start or the last lap."""
        wall, processor = time.perf_counter(), time.process_time()
        seconds = {"seconds": wall - self._wall, "processor_seconds": processor - self._processor}
        self._wall, self._processor = wall, processor
        return seconds


def make_source(folder: Path, n: int) -> dict[str, Any]:
    """Write the source corpus."""
    from benchmarks.synthetic_source import varied_sentences
    from metacross.text.writing import write_corpus

    watch, n_words = Watch(), 0
    distinct: set[int] = set()

    def counted() -> Iterator[Sentence]:
        nonlocal n_words
        for sentence in varied_sentences(n, seed=_SEED):
            distinct.add(hash(sentence.words))
            n_words += len(sentence.words)
            yield sentence

    write_corpus(counted(), folder / "source.conll")
    n_bytes = (folder / "source.conll").stat().st_size
    return watch.lap() | {"distinct": len(distinct), "words": n_words, "bytes": n_bytes}


def train_model(folder: Path, _n: int) -> dict[str, Any]:
    """Train for a few steps; seconds of reading, vectors, steps (with their tasks) and saving."""
    from metacross.settings import load_settings
    from metacross.text.bundled_corpus import bundled_corpus
    from metacross.training.callbacks import Callback
    from metacross.training.train import train

    watch = Watch()
    laps: dict[str, dict[str, float]] = {}

    class Laps(Callback):
        def on_prepare(self, what: str, _n_done: int, _n_total: int) -> None:
            if what == "sentence vectors" and "reading" not in laps:
                laps["reading"] = watch.lap()
            if what == "tasks" and "vectors" not in laps:
                laps["vectors"] = watch.lap()

        def on_train_end(self) -> None:
            laps["steps"] = watch.lap()

    settings = load_settings("mini", [f"meta.steps={_STEPS}", f"run.validate_every={_STEPS}"])
    train(
        str(folder / "source.conll"),
        dev=bundled_corpus("en", "dev"),
        recipe=settings,
        output=folder / "model",
        callbacks=[Laps()],
    )
    laps["saving"] = watch.lap()
    sizes = {
        name: (folder / "model" / name).stat().st_size
        for name in ("source.jsonl", "source_vectors.safetensors")
    }
    return {"laps": laps, "bytes": sizes}


def find_tasks(folder: Path, n: int) -> dict[str, Any]:
    """Find the tasks of a whole training with the recipe ``mini``."""
    from metacross.model.array_file import MappedArray
    from metacross.settings import load_settings
    from metacross.training.sampling import drawn_positions
    from metacross.training.tasks import pseudo_tasks

    settings = load_settings("mini")
    meta = settings.meta
    vectors = MappedArray(folder / "model" / "source_vectors.safetensors")
    queries = drawn_positions(n, meta.tasks_per_step, _SEED, steps=meta.steps)
    watch = Watch()
    pseudo_tasks(vectors, settings.retrieval, queries=queries)
    return watch.lap() | {"tasks": len(queries), "width": vectors.shape[1]}


def predict(folder: Path, _n: int) -> dict[str, Any]:
    """Load the model and predict foreign sentences, plain and adapted."""
    import metacross
    from benchmarks.sizes import foreign_sentences

    sentences = foreign_sentences()[:_N_TESTS]
    watch = Watch()
    model = metacross.load(folder / "model", device="cpu")
    laps = {"load": watch.lap()}
    list(model.predict_stream(sentences, adapt=False))
    laps["plain"] = watch.lap()
    model.neighbors(sentences)
    laps["neighbors"] = watch.lap()
    list(model.predict_stream(sentences, adapt=True))
    laps["adapted"] = watch.lap()
    return {"laps": laps, "sentences": len(sentences)}


def search_approximately(folder: Path, n: int) -> dict[str, Any]:
    """Build a faiss index of the vectors and search it for source sentences."""
    import numpy as np

    from metacross.adaptation.approximate_retrieval import ApproximateIndex
    from metacross.model.array_file import MappedArray

    vectors = MappedArray(folder / "model" / "source_vectors.safetensors")
    watch = Watch()
    index = ApproximateIndex(vectors)
    laps = {"build": watch.lap()}
    queries = np.sort(np.random.default_rng(_SEED).choice(n, _N_SEARCHED, replace=False))
    exclude = [(int(position),) for position in queries]
    index.nearest(vectors[queries], k=2, exclude=exclude)
    laps["search"] = watch.lap()
    return {"laps": laps, "recall": index.recall, "queries": _N_SEARCHED}


STAGES = {
    "source": make_source,
    "train": train_model,
    "tasks": find_tasks,
    "predict": predict,
    "faiss": search_approximately,
}


def measure(n: int, folder: Path) -> dict[str, Any]:
    """All stages for ``n`` source sentences, each in a new process."""
    from benchmarks.measuring import machine

    environment = os.environ | {"METACROSS_CACHE": str(folder / "cache")}
    results: dict[str, Any] = {
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "load_average_before": os.getloadavg()[0],
    }
    for name in STAGES:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {n:,} sentences: {name}\n")
        command = [sys.executable, "-m", "benchmarks.source_size", "--stage", name, str(n)]
        process = subprocess.run(
            [*command, "--folder", str(folder)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        results[name] = json.loads(process.stdout.splitlines()[-1])
    return results


def as_markdown(results: dict[str, Any]) -> str:
    """The table of docs/scale.md, a column for each size."""
    sizes = sorted(results, key=int)

    def row(title: str, value: Cell) -> str:
        return f"| {title} | " + " | ".join(value(results[size]) for size in sizes) + " |"

    def seconds(*path: str) -> Cell:
        def value(result: dict[str, Any]) -> str:
            for key in path:
                result = result[key]
            return f"{result['seconds']:,.0f} ({result['processor_seconds']:,.0f})"

        return value

    def peak(stage: str) -> Cell:
        return lambda result: f"{result[stage]['megabytes']:,.0f}"

    lines = [
        "| source sentences | " + " | ".join(f"{int(size):,}" for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
        row("corpus file, MB", lambda r: f"{r['source']['bytes'] / 1e6:,.0f}"),
        row("reading and storing the corpus, s", seconds("train", "laps", "reading")),
        row("sentence vectors, s", seconds("train", "laps", "vectors")),
        row("tasks found", lambda r: f"{r['tasks']['tasks']:,}"),
        row("finding them exactly, s", seconds("tasks")),
        row("saving the model, s", seconds("train", "laps", "saving")),
        row("loading the model, s", seconds("predict", "laps", "load")),
        row("neighbors of 100 sentences, s", seconds("predict", "laps", "neighbors")),
        row(
            "adapted prediction of 100 sentences, neighbors included, s",
            seconds("predict", "laps", "adapted"),
        ),
        row("vectors in the model folder, MB", _vector_megabytes),
        row("**peak memory of training, MB**", peak("train")),
        row("**peak memory of finding tasks, MB**", peak("tasks")),
        row("**peak memory of prediction, MB**", peak("predict")),
        row("faiss: building the index, s", seconds("faiss", "laps", "build")),
        row("faiss: 1,000 searches, s", seconds("faiss", "laps", "search")),
        row("faiss: recall of the two nearest", lambda r: f"{r['faiss']['recall']:.3f}"),
        row("faiss: peak memory, MB", peak("faiss")),
    ]
    machines = {json.dumps(results[size]["machine"]): results[size]["machine"] for size in sizes}
    notes = [
        f"{m['processor']}, {m['threads']} of {m['cores']} cores, torch {m['torch']}"
        for m in machines.values()
    ]
    loads = ", ".join(f"{results[size]['load_average_before']:.1f}" for size in sizes)
    return "\n".join(lines) + f"\n\n{'; '.join(notes)}. Load average before each run: {loads}.\n"


def _vector_megabytes(result: dict[str, Any]) -> str:
    return f"{result['train']['bytes']['source_vectors.safetensors'] / 1e6:,.0f}"


def render() -> None:
    """Write the table to docs/scale.md."""
    from metacross.text.writing import write_atomically

    rows = as_markdown(json.loads(RESULTS.read_text(encoding="utf-8")))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    write_atomically(PAGE, [f"{before}{BEGIN}\n{rows}\n{END}{rest.partition(END)[2]}"])


def main() -> None:
    """Measure the sizes on the command line, or render what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.source_size")
    parser.add_argument("sizes", nargs="*", type=int, help="numbers of source sentences")
    parser.add_argument("--folder", type=Path, help="for large files; default: a temporary one")
    parser.add_argument("--stage", choices=list(STAGES), help=argparse.SUPPRESS)
    parser.add_argument("--render", action="store_true", help="write the table to docs/scale.md")
    parser.add_argument("--output", type=Path, default=RESULTS, help="file of results")
    options = parser.parse_args()
    if options.stage:
        result = STAGES[options.stage](options.folder, options.sizes[0])
        sys.stdout.write(json.dumps(result | {"megabytes": peak_megabytes()}) + "\n")
        return
    for n in options.sizes:
        folder = Path(tempfile.mkdtemp(prefix="source-size-", dir=options.folder))
        try:
            result = measure(n, folder)
        finally:
            shutil.rmtree(folder)
        results = json.loads(options.output.read_text()) if options.output.exists() else {}
        results[str(n)] = result
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.render:
        render()


if __name__ == "__main__":
    main()
