"""What tests of baselines share."""

import pytest

from metacross.baseline_settings import BASELINE_GROUPS
from metacross.settings import Settings


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
