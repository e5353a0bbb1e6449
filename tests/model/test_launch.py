"""Processes that torchrun started: what each of them knows and takes."""

import pytest
import torch

from metacross.errors import SettingsError
from metacross.model.devices import resolve_device
from metacross.model.launch import Launch, check_size, torchrun_launch


@pytest.fixture
def process(monkeypatch):
    """Makes this process one of several that torchrun started."""

    def started(rank, size):
        variables = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "TORCHELASTIC_RUN_ID": 7}
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))

    return started


def test_variables_of_other_launchers_are_not_those_of_torchrun(monkeypatch, process):
    process(1, 2)
    assert torchrun_launch() == Launch(rank=1, size=2, local_rank=1)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    assert torchrun_launch() is None


@pytest.mark.parametrize("size", [3, 5, 6, 7, 9, 16])
def test_other_numbers_of_processes_are_refused_with_the_choices(size):
    with pytest.raises(SettingsError, match=rf"expected 1, 2, 4 or 8 processes.*found {size}"):
        check_size(Launch(0, size, 0))


def test_each_process_has_a_gpu_of_its_own(monkeypatch, process):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert resolve_device("cuda") == torch.device("cuda")
    process(1, 4)
    assert resolve_device("auto") == torch.device("cuda", 1)
    process(2, 4)
    with pytest.raises(SettingsError, match="expected at most 2 processes, one for each GPU"):
        resolve_device("auto")
