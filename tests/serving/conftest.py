"""What the tests of sharing a model use."""

import pytest
from huggingface_hub import constants

from stand_in_hub import TOKEN, StandInHub


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A stand-in hub that ``huggingface_hub`` talks to instead of the real one."""
    with StandInHub() as stand_in:
        template = f"{stand_in.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "ENDPOINT", stand_in.endpoint)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield stand_in
