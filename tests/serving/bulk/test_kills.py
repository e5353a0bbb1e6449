"""Parts are labeled in processes and on machines that may be killed at any moment."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from bulk_runs import InThisProcess, contents
from metacross.errors import RunError
from metacross.serving.bulk import annotate as annotating
from metacross.serving.bulk.annotate import AnnotateCallback, AnnotateOptions, annotate

pytestmark = pytest.mark.slow

TWO = AnnotateOptions(part=6, device="cpu", workers=2)


@pytest.fixture
def undisturbed(trained_folder, text_file, tmp_path, monkeypatch):
    """The bytes of a run without worker processes."""
    with monkeypatch.context() as patch:
        patch.setattr(annotating, "LocalRunner", InThisProcess)
        annotate(str(trained_folder), [str(text_file)], tmp_path / "undisturbed", options=TWO)
    return contents(tmp_path / "undisturbed")


def workers_of(process):
    """The worker processes of a process."""
    found = []
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        number, parent, command = line.split(None, 2)
        if int(parent) == process and "spawn_main" in command:
            found.append(int(number))
    return found


class KillOnce(AnnotateCallback):
    """Kills a worker when the first part is done."""

    killed = 0

    def on_progress(self, n_done):
        workers = workers_of(os.getpid())
        if not self.killed and workers:
            self.killed = workers[0]
            os.kill(self.killed, signal.SIGKILL)


def test_a_killed_worker_is_replaced_and_the_bytes_are_those_of_one_process(
    trained_folder, text_file, tmp_path, undisturbed
):
    callback = KillOnce()
    annotated = annotate(
        str(trained_folder), [str(text_file)], tmp_path / "out", options=TWO, callback=callback
    )
    assert callback.killed
    assert annotated.sentences == 60
    assert len(undisturbed) == 10
    assert contents(tmp_path / "out") == undisturbed


class KillAlways(AnnotateCallback):
    def on_begin(self, n_done, n_units):
        self.going = True
        self.thread = threading.Thread(target=self.kill, daemon=True)
        self.thread.start()

    def kill(self):
        while self.going:
            for worker in workers_of(os.getpid()):
                os.kill(worker, signal.SIGKILL)
            time.sleep(0.05)


def test_workers_that_die_again_and_again_end_in_an_error(trained_folder, text_file, tmp_path):
    callback = KillAlways()
    with pytest.raises(RunError, match=r"exit code -9\. Run the same command again to resume\."):
        annotate(
            str(trained_folder), [str(text_file)], tmp_path / "out", options=TWO, callback=callback
        )
    callback.going = False
    callback.thread.join()


def started(trained_folder, text_file, output, *options):
    command = [sys.executable, "-m", "metacross", "annotate", trained_folder, text_file]
    command += ["--output", output, "--part", "6", "--device", "cpu", *options]
    return subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True)


def until_parts(process, output, n):
    deadline = time.monotonic() + 240
    while len([*output.glob("*.done")]) < n and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)


def test_a_killed_command_resumes_to_the_same_bytes(
    trained_folder, text_file, tmp_path, undisturbed
):
    output = tmp_path / "out"
    process = started(trained_folder, text_file, output, "--workers", "1")
    until_parts(process, output, 2)
    process.kill()
    process.communicate(timeout=60)
    annotated = annotate(str(trained_folder), [str(text_file)], output, options=TWO)
    assert 2 <= annotated.resumed < 10
    assert contents(output) == undisturbed
    assert not [*output.glob(".part-*")]


@pytest.mark.timeout(400)
def test_two_machines_with_ray_write_the_same_bytes(
    trained_folder, text_file, tmp_path, undisturbed
):
    pytest.importorskip("ray")
    code = (
        "import sys; from benchmarks.bulk import two_machines\n"
        "with two_machines() as cluster:\n"
        "    print('address', cluster.options[1], flush=True); sys.stdin.read()"
    )
    cluster = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        found = re.search(r"address (\S+)", next(t for t in cluster.stdout if "address " in t))
        process = started(trained_folder, text_file, tmp_path / "out", "--ray", found[1])
        _, errors = process.communicate(timeout=300)
    finally:
        cluster.communicate("", timeout=60)
    assert process.returncode == 0, errors
    assert errors.endswith(f"Annotated 60 sentences: 10 parts in {tmp_path / 'out'}.\n")
    assert contents(tmp_path / "out") == undisturbed
