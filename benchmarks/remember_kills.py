"""Kills processes while they let a model remember sentences, and checks what is left on disk.

python -m benchmarks.remember_kills MODEL --kills 1000

Each process remembers and forgets batches of sentences until it is killed (SIGKILL) at a random
moment. Afterwards the memory of the model must be readable, hold every batch completely or not at
all, and hold what the process had finished.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch

import metacross
from metacross.adaptation.ner_model import NerModel
from metacross.model.remembered import REMEMBERED, read_remembered
from metacross.text.sentence import Sentence, Span

_BATCH = 3
_LONGEST_LIFE = 8  # times what it takes to remember and forget a batch
_LOADED_EVERY = 50  # kills after which the whole model is loaded


@dataclass(frozen=True, slots=True)
class KillReport:
    """What was found after the kills.

    ``changed`` is how often the process had changed the memory before it was killed,
    ``in_the_middle`` how often it left an unfinished file behind.
    """

    kills: int
    changed: int
    in_the_middle: int
    sentences: int
    seconds: float


def kill_many(folder: Path, *, kills: int, seed: int = 0) -> KillReport:
    """Kill ``kills`` processes while they change the memory of the model in a folder.

    Raises:
        AssertionError: The memory is damaged.
    """
    torch.set_num_threads(1)  # a process with threads cannot be copied
    model = metacross.load(folder, device="cpu")
    generator = random.Random(seed)
    changed = in_the_middle = 0
    start = time.monotonic()
    longest_life = _LONGEST_LIFE * _seconds_of_a_change(model)
    for number in range(kills):
        finished = _killed(model, number, generator.uniform(0, longest_life))
        leftovers = list(folder.glob(f".{REMEMBERED}.*.part"))
        in_the_middle += bool(leftovers)
        changed += bool(finished)
        _check(folder, finished)
        if number % _LOADED_EVERY == 0:
            metacross.load(folder, device="cpu")
    metacross.load(folder, device="cpu")
    n_sentences = len(read_remembered(folder))
    return KillReport(kills, changed, in_the_middle, n_sentences, time.monotonic() - start)


def _seconds_of_a_change(model: NerModel) -> float:
    start = time.monotonic()
    for count in range(5):
        sentences = _batch(f"before-{count}", model.labels[0])
        model.remember(sentences, save=True)
        model.forget(sentences, save=True)
    return (time.monotonic() - start) / 5


def _killed(model: NerModel, number: int, life: float) -> list[str]:
    """Start a process, kill it after some seconds; the lines it wrote after each change."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            _change_forever(model, number, writing)
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(life)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read().splitlines()


def _change_forever(model: NerModel, number: int, writing: int) -> None:
    for count in range(10_000):
        sentences = _batch(f"{number}-{count}", model.labels[0])
        model.remember(sentences, save=True)
        os.write(writing, f"+{number}-{count}\n".encode())
        if count % 3:
            model.forget(sentences, save=True)
            os.write(writing, f"-{number}-{count}\n".encode())


def _batch(name: str, label: str) -> list[Sentence]:
    return [
        Sentence((name, "Ana", f"part{part}"), (Span(1, 2, label),), "es") for part in range(_BATCH)
    ]


def _check(folder: Path, finished: list[str]) -> None:
    sizes = Counter(item.sentence.words[0] for item in read_remembered(folder))
    assert set(sizes.values()) <= {_BATCH}, "a batch is there in parts"
    present = {line[1:] for line in finished if line[0] == "+"}
    gone = {line[1:] for line in finished if line[0] == "-"}
    last = finished[-1][1:] if finished else ""  # the process may have been about to forget it
    for name in present - gone:
        assert name in sizes or name == last, f"{name} was remembered and is lost"
    for name in gone:
        assert name not in sizes, f"{name} was forgotten and is still there"


def main() -> None:
    """Kill as the command line says, on a copy of the model."""
    parser = argparse.ArgumentParser(description="Kill processes that let a model remember.")
    parser.add_argument("model", type=Path, help="a model folder; it is copied")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        shutil.copytree(arguments.model, folder, ignore=shutil.ignore_patterns("training"))
        report = kill_many(folder, kills=arguments.kills, seed=arguments.seed)
    sys.stdout.write(
        json.dumps(
            {
                "kills": report.kills,
                "processes_that_changed_the_memory": report.changed,
                "unfinished_files_left_behind": report.in_the_middle,
                "remembered_sentences_at_the_end": report.sentences,
                "seconds": round(report.seconds, 1),
            }
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
