"""Several processes share the work of a study."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from metacross.errors import DataError, RunError
from metacross.study.callbacks import StudyCallback
from metacross.study.results import StudyFolder
from metacross.study.run_study import run_study
from metacross.study.worker_pool import run_in_processes

pytestmark = pytest.mark.slow

ENDLESS = ("--set", "direct.steps=100000", "--set", "meta.steps=100000")


@dataclass(frozen=True)
class PidWork:
    """Every part writes the id of its process and waits for a part in another process."""

    folder: Path
    n_parts: int

    def run(self, part, callback):
        (self.folder / f"{part}.pid").write_text(str(os.getpid()))
        deadline = time.monotonic() + 120
        while len(self.pids()) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        callback.on_scoring(os.environ["OMP_NUM_THREADS"], part, self.n_parts)

    def pids(self):
        return {path.read_text() for path in self.folder.glob("*.pid")} - {""}


class Recorder(StudyCallback):
    def __init__(self):
        self.parts, self.threads = [], set()

    def on_scoring(self, what, n_done, n_total):
        self.parts.append(n_done)
        self.threads.add(what)


def test_several_processes_share_the_work(tmp_path):
    work, recorder = PidWork(tmp_path, 5), Recorder()
    run_in_processes(work, 2, recorder)
    assert len(work.pids()) == 2
    assert str(os.getpid()) not in work.pids()
    assert sorted(recorder.parts) == [0, 1, 2, 3, 4]  # each part once
    assert recorder.threads == {str(max(1, (os.cpu_count() or 1) // 2))}


@dataclass(frozen=True)
class FailingWork:
    error: BaseException
    n_parts: int = 2

    def run(self, part, callback):
        if part == 1:
            raise self.error
        time.sleep(300)


def test_an_error_in_a_process_stops_the_others_and_is_raised():
    began = time.monotonic()
    with pytest.raises(DataError, match="there is no such corpus"):
        run_in_processes(FailingWork(DataError("there is no such corpus")), 2, StudyCallback())
    assert time.monotonic() - began < 200


def test_a_process_that_ends_is_an_error_that_says_how_to_resume():
    with pytest.raises(RunError, match=r"exit code 7\. Run the same command again to resume\."):
        run_in_processes(FailingWork(SystemExit(7)), 2, StudyCallback())


def test_with_two_processes_a_study_has_the_results_of_one(study_file, tmp_path):
    values = json.loads(study_file.read_text())
    values |= {"systems": {"one": [], "other": ["masking.ratio=0"], "twin": []}, "seeds": [1]}
    study_file.write_text(json.dumps(values))

    class Names(StudyCallback):
        systems, trainings, keys = [], [], []

        def of_worker(self, worker):
            return NamesOfWorker()

        def on_result(self, result):
            self.keys.append(result.key)

    class NamesOfWorker(StudyCallback):
        def on_system_begin(self, system_run):
            Names.systems.append((system_run.system, system_run.labels))

        def on_train_begin(self, steps_done, steps):
            Names.trainings.append((steps_done, steps))

        def on_result(self, result):
            raise AssertionError("a result belongs to the callback of the study")

    alone = run_study(study_file, output=tmp_path / "alone").results
    together = run_study(study_file, output=tmp_path / "together", jobs=2, callback=Names()).results
    assert [(r.key, r.counts) for r in together] == [(r.key, r.counts) for r in alone]
    assert sorted(Names.systems) == sorted({(r.system, r.labels) for r in alone})
    assert Names.trainings == [(0, 4)] * 4  # the trainings of two systems, with 1 and 2 labels
    assert sorted(Names.keys) == sorted(r.key for r in alone)
    trained = {folder.name.split("_")[0] for folder in (tmp_path / "together" / "runs").iterdir()}
    assert trained == {"one", "other"}  # systems that share a training run are in one process


def log_sizes(output):
    return [path.stat().st_size for path in sorted(output.glob("runs/*/training/log.jsonl"))]


@pytest.fixture
def endless_study(study_file, tmp_path):
    """A study with two processes that are training."""
    output = tmp_path / "out"
    command = [sys.executable, "-m", "metacross", "experiment", str(study_file), "--jobs", "2"]
    rarely = ("--set", "run.checkpoint_every=100000")
    process = subprocess.Popen(
        [*command, *ENDLESS, *rarely, "--output", str(output)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 240
    while sum(size > 0 for size in log_sizes(output)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    yield process, output
    process.kill()
    process.wait()
    process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_study_stops_its_processes_with_checkpoints(endless_study, number):
    process, output = endless_study
    process.send_signal(number)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 1
    assert error.strip().splitlines()[-1] == (
        "metacross: Stopped. Run the same command again to resume."
    )
    assert len([*output.glob("runs/*/training/checkpoint.safetensors")]) == 2
    sizes = log_sizes(output)
    time.sleep(1)
    assert log_sizes(output) == sizes


def test_processes_end_when_the_parent_is_killed(endless_study):
    process, output = endless_study
    process.kill()
    process.wait()
    deadline, before = time.monotonic() + 60, None
    while log_sizes(output) != before and time.monotonic() < deadline:
        before = log_sizes(output)
        time.sleep(1)
    assert log_sizes(output) == before
    assert StudyFolder(output).results() == []
