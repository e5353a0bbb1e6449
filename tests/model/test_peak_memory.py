"""The peak memory of a block."""

import sys
from mmap import mmap

import pytest

from metacross.model import peak_memory as module
from metacross.model.peak_memory import peak_memory


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak")
def test_the_peak_is_that_of_the_block_alone():
    with peak_memory() as small_before:
        pass
    with peak_memory() as large, mmap(-1, 200 * 2**20) as memory:  # goes back to the system at once
        for page in range(0, len(memory), 4096):
            memory[page] = 1
    with peak_memory() as small_after:
        pass
    assert 190 < large.megabytes - small_before.megabytes < 260
    assert abs(small_after.megabytes - small_before.megabytes) < 50


def test_elsewhere_the_peak_is_not_known(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PROCESS", tmp_path / "nothing")
    with peak_memory() as peak:
        pass
    assert peak.megabytes is None
