"""What tests of baselines share."""

import pytest

from metacross.settings import Settings
from metacross.training.run_folder import BASELINE_GROUPS


@pytest.fixture
def groups_read(monkeypatch):
    """The groups of settings of baselines that were read."""
    read = set()

    def recorded(settings, name):
        if name in BASELINE_GROUPS:
            read.add(name)
        return object.__getattribute__(settings, name)

    monkeypatch.setattr(Settings, "__getattribute__", recorded)
    return read
