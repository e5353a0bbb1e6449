"""Arrays in safetensors files, against numpy and the safetensors library."""

import hashlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from metacross.model import array_file
from metacross.model.array_file import (
    ArrayPlan,
    MappedArray,
    StackedArray,
    computed_array,
    rows_digest,
    write_array,
)

ROWS = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)


@pytest.mark.parametrize("block_bytes", [1, 500, 2**26])
def test_a_file_is_the_one_that_safetensors_writes(tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(array_file, "_BLOCK_BYTES", block_bytes)
    write_array(tmp_path / "ours", "vectors", ROWS)
    save_file({"vectors": ROWS}, tmp_path / "theirs")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    write_array(tmp_path / "again", "vectors", MappedArray(tmp_path / "ours"))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_rows_of_a_mapped_array_are_those_of_numpy(tmp_path, monkeypatch):
    monkeypatch.setattr(array_file, "_GATHERED_ROWS", 4)
    save_file({"vectors": ROWS}, tmp_path / "file", {"made": "elsewhere"})
    mapped = MappedArray(tmp_path / "file")
    assert mapped.shape == ROWS.shape
    assert len(mapped) == 50
    positions = np.random.default_rng(1).integers(50, size=19)
    for rows in (slice(3, 9), slice(None), slice(45, 99), positions, [7, 7, 0]):
        assert np.array_equal(mapped[rows], ROWS[rows])
    assert mapped[[]].shape == (0, 6)
    mapped[0:1][:] = 0  # a copy
    assert np.array_equal(mapped[:], ROWS)


@pytest.mark.parametrize("n_first", [0, 1, 20, 49])
def test_stacked_arrays_have_the_rows_of_both(n_first):
    stacked = StackedArray(ROWS[:n_first], ROWS[n_first:])
    assert len(stacked) == 50
    positions = np.random.default_rng(1).integers(50, size=30)
    for rows in (slice(0, 19), slice(15, 25), slice(30, 80), slice(None), positions):
        assert np.array_equal(stacked[rows], ROWS[rows])


def test_the_digest_is_that_of_the_bytes_whatever_the_blocks(monkeypatch):
    monkeypatch.setattr(array_file, "_BLOCK_BYTES", 100)
    assert rows_digest(ROWS) == hashlib.sha256(ROWS.tobytes()).hexdigest()


BROKEN = {
    "empty": b"",
    "cut header": b"\x40\0\0\0\0\0\0\0{",
    "no array": b"\x08\0\0\0\0\0\0\0{}      ",
    "no JSON": b"\x08\0\0\0\0\0\0\0xxxxxxxx",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=r"[Ee]xpect"):
        MappedArray(tmp_path / "file")


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b + b"x"])
def test_a_file_of_the_wrong_length_is_refused(tmp_path, change):
    write_array(tmp_path / "file", "vectors", ROWS)
    (tmp_path / "file").write_bytes(change((tmp_path / "file").read_bytes()))
    with pytest.raises(ValueError, match="bytes"):
        MappedArray(tmp_path / "file")


PLAN = ArrayPlan("vectors", ROWS.shape, rows_at_once=8)


class Computation:
    """Gives rows, and fails before row ``fails_at``."""

    def __init__(self, fails_at=None):
        self.fails_at = fails_at
        self.ranges = []

    def __call__(self, start, end):
        if self.fails_at is not None and end > self.fails_at:
            raise KeyboardInterrupt
        self.ranges.append((start, end))
        return ROWS[start:end]


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_stopped_computation_goes_on_and_gives_the_same_bytes(tmp_path, cut):
    path = tmp_path / "folder" / "a.safetensors"
    with pytest.raises(KeyboardInterrupt):
        computed_array(path, PLAN, Computation(fails_at=30))
    assert not path.exists()
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(unfinished.read_bytes()[: -cut or None])  # a kill in a write
    computation, progress = Computation(), []
    array = computed_array(path, PLAN, computation, progress.append)
    first = 24 if cut == 0 else 16
    assert computation.ranges[0] == (first, first + 8)
    assert computation.ranges[-1] == (48, 50)
    assert (progress[0], progress[-1]) == (first, 50)
    assert np.array_equal(array[:], ROWS)
    assert np.array_equal(load_file(path)["vectors"], ROWS)
    assert list(path.parent.iterdir()) == [path]
    again = Computation()
    assert np.array_equal(computed_array(path, PLAN, again)[:], ROWS)
    assert again.ranges == []


def test_the_unfinished_file_of_another_array_is_not_used(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(KeyboardInterrupt):
        computed_array(path, PLAN, Computation(fails_at=30))
    narrower = ArrayPlan("vectors", (50, 3), rows_at_once=8)
    array = computed_array(path, narrower, lambda start, end: ROWS[start:end, :3])
    assert np.array_equal(array[:], ROWS[:, :3])


def test_a_broken_file_is_computed_again(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"junk")
    assert np.array_equal(computed_array(path, PLAN, Computation())[:], ROWS)


KILLED = """
import sys, time
from pathlib import Path
import numpy as np
from metacross.model.array_file import ArrayPlan, computed_array

def compute(start, end):
    time.sleep(float(sys.argv[2]))
    return np.arange(2 * start, 2 * end).reshape(-1, 2)

computed_array(Path(sys.argv[1]), ArrayPlan("a", (400, 2), 10, "I64"), compute)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_process_is_continued_by_the_next(tmp_path):
    path = tmp_path / "a.safetensors"
    unfinished = path.with_suffix(".part")
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(path), "0.05"])
    deadline = time.monotonic() + 60
    while not (unfinished.exists() and unfinished.stat().st_size > 1_000):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    n_before = unfinished.stat().st_size
    assert not path.exists()
    subprocess.run([sys.executable, "-c", KILLED, str(path), "0"], check=True)
    assert n_before < path.stat().st_size
    save_file({"a": np.arange(800).reshape(400, 2)}, tmp_path / "theirs")
    assert path.read_bytes() == (tmp_path / "theirs").read_bytes()
