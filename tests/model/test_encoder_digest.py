"""An encoder is identified without loading it."""

import shutil

import huggingface_hub.constants
import pytest

from metacross.errors import ModelError
from metacross.model.encoder_digest import encoder_digest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
def test_the_digest_of_a_folder_depends_on_configuration_tokenizer_and_weights(
    encoders, tmp_path, file
):
    folder = tmp_path / "encoder"
    shutil.copytree(encoders["bert"], folder)
    assert encoder_digest(str(folder)) == encoder_digest(encoders["bert"])
    content = bytearray((folder / file).read_bytes())
    content[-1] ^= 1
    (folder / file).write_bytes(content)
    assert encoder_digest(str(folder)) != encoder_digest(encoders["bert"])


def test_the_bundled_encoder_has_the_digest_of_its_folder():
    from metacross.model.encoder_files import encoder_location

    assert encoder_digest("mini") == encoder_digest(encoder_location("mini"))


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """A cache as ``huggingface_hub`` lays it out, with one version of one encoder."""
    repository = tmp_path / "models--org--name"
    (repository / "snapshots" / COMMIT).mkdir(parents=True)
    (repository / "snapshots" / COMMIT / "config.json").write_text("{}")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))


def test_the_digest_of_a_hub_name_is_the_commit_in_the_cache(hub_cache):
    assert encoder_digest("org/name") == COMMIT


@pytest.mark.parametrize("name", ["org/other", "no such/name at all", "a/b/c"])
def test_an_unknown_name_is_an_error_of_one_line(hub_cache, name):
    with pytest.raises(
        ModelError, match=f"{name}: expected an encoder folder, a hub name or mini"
    ) as e:
        encoder_digest(name)
    assert "\n" not in str(e.value)
