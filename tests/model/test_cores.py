"""Threads of torch follow the cores that a process may use."""

import os
import shutil
import subprocess
import sys

import pytest
import torch

from metacross.adaptation.loading import load
from metacross.model.cores import available_cores, use_threads
from metacross.settings import load_settings
from tiny import tagger_on

N_CORES = len(os.sched_getaffinity(0))


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_process_on_one_core_has_one_core():
    code = "from metacross.model.cores import available_cores; print(available_cores())"
    pinned = {"preexec_fn": lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})}
    printed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, **pinned)
    assert printed.stdout.decode().strip() == "1"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, N_CORES),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "100000 100000"}, 1),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "50000 100000"}, 1),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, N_CORES),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "9900000 100000"}, N_CORES),
        (
            {
                "proc/self/cgroup": "3:cpuset:/\n2:cpu,cpuacct:/box\n0::/\n",
                "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "100000",
                "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            },
            1,
        ),
        (
            {
                "proc/self/cgroup": "1:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            N_CORES,
        ),
    ],
)
def test_the_limit_of_a_container_is_obeyed(tmp_path, files, expected):
    assert available_cores(write(tmp_path, files)) == expected


def test_without_a_setting_torch_keeps_its_threads_up_to_the_cores(threads, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    threads(N_CORES + 3)
    use_threads(None)
    assert torch.get_num_threads() == N_CORES
    threads(1)
    use_threads(None)
    assert torch.get_num_threads() == 1


def test_the_environment_variable_wins_over_the_cores(threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(N_CORES + 3))
    threads(N_CORES + 3)
    use_threads(None)
    assert torch.get_num_threads() == N_CORES + 3


def test_a_saved_model_does_not_keep_the_threads_of_the_machine_it_was_trained_on(
    threads, trained_folder, tmp_path
):
    shutil.copytree(trained_folder, tmp_path / "model")
    recipe = tmp_path / "model" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("threads: null", "threads: 2"))
    assert "threads: 2" in recipe.read_text()
    threads(1)
    assert load(tmp_path / "model").settings.run.threads is None
    assert torch.get_num_threads() == 1


def test_a_model_uses_the_threads_of_the_setting(threads, encoders):
    threads(1)
    tagger_on(encoders["bert"], "run.threads=2")
    assert torch.get_num_threads() == 2
    assert load_settings("paper").run.threads is None
