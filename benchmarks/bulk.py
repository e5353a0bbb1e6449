"""Measures ``metacross annotate``: speed with one process, two processes and Ray; kills.

python -m benchmarks.bulk --write    # bulk.json, bulk.md, and the tables of docs/how-to/annotate.md
python -m benchmarks.bulk --sentences 400 --kill-sentences 200 --kills 5 --part 20 --output DIR

The corpus is the bundled one, varied with a seed. Each kill is a run of its own: the command starts
in an empty folder, and at a random moment a worker, a machine of the cluster or the command itself
is killed (SIGKILL). A killed command is run again. At the end every part must have the bytes of an
undisturbed run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring import load_line, machine_line
from benchmarks.served import demo_model
from benchmarks.server_page import write_block
from benchmarks.synthetic_source import varied_sentences
from metacross.text.bundled_corpus import TARGETS
from metacross.text.resource_files import file_digest
from metacross.text.sentence import Sentence
from metacross.text.writing import conll_lines, write_atomically

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "docs" / "how-to" / "annotate.md"
VICTIMS = ("worker", "command", "ray worker", "ray machine", "ray command")
_LONGEST_RUN = 3_600  # seconds


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the command: the digest of its parts, and its time with all start-up."""

    digest: str
    seconds: float
    sentences: int


@dataclass(frozen=True, slots=True)
class Kill:
    """What became of a killed run. ``after`` is the moment, as a part of an undisturbed run;
    ``commands`` is how often the command was started.
    """

    victim: str
    after: float
    finished_parts: int
    commands: int
    same_bytes: bool


def foreign_sentences(n: int, seed: int) -> Iterator[Sentence]:
    """Varied sentences of the bundled corpus without labels, of one language after the other."""
    by_language = [
        varied_sentences(n, seed=seed, language=language, split="test") for language in TARGETS
    ]
    for number in range(n):
        yield Sentence(next(by_language[number % len(TARGETS)]).words)


def write_sentences(n: int, path: Path, *, seed: int = 0) -> Path:
    """Write varied sentences as CoNLL, without labels."""
    write_atomically(path, map(conll_lines, foreign_sentences(n, seed)))
    return path


@dataclass(frozen=True, slots=True)
class Command:
    """``metacross annotate`` on a file."""

    model: Path
    file: Path
    part: int

    def start(self, output: Path, options: Sequence[str]) -> subprocess.Popen[str]:
        """Start it in a process of its own."""
        command = [sys.executable, "-m", "metacross", "annotate", str(self.model), str(self.file)]
        command += ["--output", str(output), "--part", str(self.part), "--device", "cpu", *options]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def run(self, output: Path, options: Sequence[str]) -> Run:
        """Run it to its end."""
        began = time.monotonic()
        finished(self.start(output, options))
        seconds = time.monotonic() - began
        receipts = [json.loads(path.read_text()) for path in output.glob("*.done")]
        n_sentences = sum(receipt["sentences"] for receipt in receipts)
        return Run(parts_digest(output), seconds, n_sentences)


def finished(process: subprocess.Popen[str]) -> None:
    """Wait until a command ends well."""
    _, errors = process.communicate(timeout=_LONGEST_RUN)
    if process.returncode != 0:
        raise RuntimeError(f"expected exit code 0, found {process.returncode}: {errors[-2000:]}")


def parts_digest(output: Path) -> str:
    """The names and digests of all parts, in a line for each."""
    return "\n".join(f"{path.name} {file_digest(path)}" for path in sorted(output.glob("*.jsonl")))


class TwoMachines:
    """A Ray cluster of two machines with a core each, both simulated on this one."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's spelling; as others have
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
        )
        self._second = self._cluster.add_node(num_cpus=1)

    @property
    def options(self) -> list[str]:
        """What the command needs to use it."""
        return ["--ray", str(self._cluster.address)]

    def lose_second(self) -> None:
        """Kill the second machine."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def repair(self) -> None:
        """Start the second machine again if it was killed."""
        if self._second not in self._cluster.list_all_nodes():  # type: ignore[no-untyped-call]
            self._second = self._cluster.add_node(num_cpus=1)

    def stop(self) -> None:
        """End all machines."""
        self._cluster.shutdown()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def two_machines() -> Iterator[TwoMachines]:
    """A cluster inside the block."""
    cluster = TwoMachines()
    try:
        yield cluster
    finally:
        cluster.stop()


def children(process: int, marks: Sequence[str]) -> list[int]:
    """The running descendants of a process whose command line has one of the marks."""
    parents: dict[int, int] = {}
    lines: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            if status[0] != "Z":
                parents[int(folder.name)] = int(status[1])
                lines[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace")

    def descends(number: int) -> bool:
        while number in parents:
            number = parents[number]
            if number == process:
                return True
        return False

    return [
        number
        for number, line in lines.items()
        if any(mark in line for mark in marks) and descends(number)
    ]


def kill_worker(process: int, marks: Sequence[str], rng: random.Random) -> None:
    """Kill a random worker below a process, as soon as there is one."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        workers = children(process, marks)
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(workers), signal.SIGKILL)
            return
        time.sleep(0.05)


class Killer:
    """Kills runs of a command at random moments."""

    def __init__(self, command: Command, reference: Run, cluster: TwoMachines, seed: int) -> None:
        self._command = command
        self._reference = reference
        self._cluster = cluster
        self._rng = random.Random(seed)

    def kill(self, victim: str, output: Path, seconds: float) -> Kill:
        """Start the command, kill the victim, and have the work finished.

        ``seconds`` is how long an undisturbed run takes.
        """
        is_ray = victim.startswith("ray")
        options = self._cluster.options if is_ray else ["--workers", "2"]
        after = self._rng.random()
        process = self._command.start(output, options)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after * seconds)
        n_finished = len(list(output.glob("*.done")))
        self._strike(victim, process)
        n_commands = 1
        if victim.endswith("command"):
            process.wait()
            n_commands += 1
            process = self._command.start(output, options)
        finished(process)
        self._cluster.repair()
        same = parts_digest(output) == self._reference.digest
        return Kill(victim, round(after, 3), n_finished, n_commands, same)

    def _strike(self, victim: str, process: subprocess.Popen[str]) -> None:
        if process.poll() is not None:
            return
        if victim.endswith("command"):
            process.kill()
        elif victim == "worker":
            kill_worker(process.pid, ("spawn_main",), self._rng)
        elif victim == "ray worker":
            kill_worker(os.getpid(), ("ray::MapWorker", "ray::_MapWorker"), self._rng)
        else:
            self._cluster.lose_second()


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """All measurements."""
    model, load = demo_model(), load_line()
    with tempfile.TemporaryDirectory() as temporary, two_machines() as cluster:
        folder = Path(temporary)
        ways: dict[str, list[str]] = {
            "one process": ["--workers", "1"],
            "two processes": ["--workers", "2"],
            "Ray, two machines": cluster.options,
        }
        whole = Command(
            model, write_sentences(arguments.sentences, folder / "all.conll"), arguments.part
        )
        runs = {}
        for name, options in ways.items():
            runs[name] = whole.run(folder / name, options)
            _log(f"{name}: {runs[name].seconds:.0f} s")
        kills = _kills(arguments, model, folder, cluster) if arguments.kills else []
    first = runs["one process"]
    return {
        "sentences": first.sentences,
        "part": arguments.part,
        "seed": 0,
        "machine": machine_line(),
        "load": load,
        "runs": {
            name: {
                "seconds": round(run.seconds, 1),
                "sentences_per_second": round(run.sentences / run.seconds, 1),
                "speed_up": round(first.seconds / run.seconds, 2),
                "same_bytes": run.digest == first.digest,
            }
            for name, run in runs.items()
        },
        "kill_sentences": arguments.kill_sentences,
        "kill_part": max(1, arguments.kill_sentences // 20),
        "kills": [asdict(kill) for kill in kills],
    }


def _kills(
    arguments: argparse.Namespace, model: Path, folder: Path, cluster: TwoMachines
) -> list[Kill]:
    n_sentences = arguments.kill_sentences
    path = write_sentences(n_sentences, folder / "kills.conll", seed=1)
    command = Command(model, path, max(1, n_sentences // 20))
    reference = command.run(folder / "undisturbed", ["--workers", "2"])
    on_ray = command.run(folder / "undisturbed-ray", cluster.options)
    if on_ray.digest != reference.digest:
        raise RuntimeError("expected the same bytes with Ray and without")
    killer = Killer(command, reference, cluster, seed=0)
    kills = []
    for number in range(arguments.kills):
        victim = VICTIMS[number % len(VICTIMS)]
        seconds = on_ray.seconds if victim.startswith("ray") else reference.seconds
        kills.append(killer.kill(victim, folder / f"kill-{number}", seconds))
        _log(f"kill {number + 1}: {kills[-1]}")
    return kills


def as_markdown(results: dict[str, Any]) -> str:
    """The tables."""
    lines = [
        f"{results['sentences']:,} sentences (the bundled corpus, varied with seed "
        f"{results['seed']}), parts of {results['part']:,}, the demo model (bundled encoder, "
        f"seed 0), adapted, one thread for each process; times with all start-up. "
        f"{results['machine']}; {results['load']}.",
        "",
        "| | seconds | sentences per second | speed-up | same bytes |",
        "|---|---:|---:|---:|---|",
    ]
    for name, run in results["runs"].items():
        same = "yes" if run["same_bytes"] else "NO"
        lines.append(
            f"| {name} | {run['seconds']:,.0f} | {run['sentences_per_second']:.1f} | "
            f"{run['speed_up']:.2f} | {same} |"
        )
    if results["kills"]:
        lines += [
            "",
            f"SIGKILL at random moments, each in a run of its own with "
            f"{results['kill_sentences']:,} sentences in parts of {results['kill_part']:,}:",
            "",
            "| killed | times | parts finished before | run again | resumed to the same bytes |",
            "|---|---:|---|---:|---:|",
        ]
        lines += [_kill_row(victim, results["kills"]) for victim in VICTIMS]
    return "\n".join(lines) + "\n"


def _kill_row(victim: str, kills: Sequence[dict[str, Any]]) -> str:
    own = [kill for kill in kills if kill["victim"] == victim]
    before = ", ".join(str(kill["finished_parts"]) for kill in own)
    again = sum(kill["commands"] - 1 for kill in own)
    return f"| {victim} | {len(own)} | {before} | {again} | {sum(k['same_bytes'] for k in own)} |"


def _log(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description="Measure metacross annotate.")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--part", type=int, default=2_000)
    parser.add_argument("--kill-sentences", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder of bulk.json, bulk.md")
    parser.add_argument("--render", action="store_true", help="render bulk.json; do not measure")
    parser.add_argument("--write", action="store_true", help="write the tables to the page too")
    arguments = parser.parse_args()
    results_file = arguments.output / "bulk.json"
    if arguments.render:
        results = json.loads(results_file.read_text(encoding="utf-8"))
    else:
        results = measured(arguments)
        write_atomically(results_file, [json.dumps(results, indent=1), "\n"])
    write_atomically(arguments.output / "bulk.md", [as_markdown(results)])
    if arguments.write:
        write_block("bulk", as_markdown(results).strip(), PAGE)
    sys.stdout.write(as_markdown(results))


if __name__ == "__main__":
    main()
