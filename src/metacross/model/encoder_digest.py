"""Identifies the contents of an encoder without loading it."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from huggingface_hub import hf_hub_download

from metacross.errors import ModelError

_BUNDLED = "mini"
_CHUNK_BYTES = 2**20


def encoder_digest(name: str) -> str:
    """A string that changes when the encoder does.

    For a folder and for the bundled encoder ``mini``: a digest of its configuration, tokenizer and
    weight files. For a hub name: the commit of the version in the local cache, which is downloaded
    (the configuration only) where there is none.
    """
    if name == _BUNDLED:
        return _folder_digest(Path(str(resources.files("metacross"))) / "assets" / "encoder")
    if Path(name).is_dir():
        return _folder_digest(Path(name))
    return _hub_commit(name)


def _folder_digest(folder: Path) -> str:
    files = [
        folder / "config.json",
        folder / "tokenizer.json",
        *sorted(folder.glob("*.safetensors")),
    ]
    digest = hashlib.sha256()
    for path in files:
        if path.exists():
            digest.update(f"{path.name} {path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
    return digest.hexdigest()


def _hub_commit(name: str) -> str:
    try:
        config = hf_hub_download(name, "config.json")  # .../snapshots/<commit>/config.json
    except (OSError, ValueError) as problem:
        reason = str(problem).strip().splitlines()
        raise ModelError(
            f"{name}: expected an encoder folder, a hub name or mini, but "
            f"{reason[0] if reason else 'it cannot be downloaded'}"
        ) from problem
    return Path(config).parent.name
