"""Finds model folders: on this machine, or on the Hugging Face hub as ``hub:OWNER/NAME@COMMIT``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from metacross.errors import ModelError
from metacross.model.baseline_record import RECORD
from metacross.model.datastore import SOURCE_FILES
from metacross.model.encoder_files import first_line
from metacross.model.model_card import CARD, HUB
from metacross.model.model_mark import MARK, is_model_folder

_NETWORK_FILES = (
    "config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
)
_WORD_TAGGER_FILES = ("crf.*", "bilstm_crf.*", "clusters-*.tsv", "gazetteer.tsv")
PLAIN_FILES = (*_NETWORK_FILES, *_WORD_TAGGER_FILES, "recipe.yaml", RECORD, MARK)
"""The files of a model that does not adapt, as patterns; the card comes with them."""
DATASTORE_FILES = (*SOURCE_FILES, *(f"sentence_encoder/{name}" for name in _NETWORK_FILES))
"""The files that adaptation needs too."""
NETWORK_ERRORS = cast(tuple[type[Exception], ...], HfHubHTTPError.__bases__)
"""OSError and the base class of the HTTP library's errors, which differs between versions of
``huggingface_hub``.
"""
HUB_ERRORS: tuple[type[Exception], ...] = (*NETWORK_ERRORS, EntryNotFoundError, ValueError)
"""What a request to the hub can raise."""
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model folder on this machine.

    ``location`` names it: the folder, or ``hub:OWNER/NAME@COMMIT`` with the commit that was loaded.
    """

    folder: Path
    location: str


def find_model(location: str | Path) -> FoundModel:
    """The folder of a model; one on the hub is downloaded unless it is in the cache."""
    if isinstance(location, Path) or not location.startswith(HUB):
        return FoundModel(Path(location), str(location))
    repository, _, revision = location.removeprefix(HUB).partition("@")
    check_repository(repository, location)
    folder = Path(_download(repository, revision or None, location))
    if not is_model_folder(folder):
        raise ModelError(
            f"{location}: expected a metacross model, found no {MARK} in the repository; "
            "an encoder is passed with --encoder"
        )
    commit = folder.name if _COMMIT.fullmatch(folder.name) else revision
    return FoundModel(folder, f"{HUB}{repository}@{commit}")


def check_repository(name: str, place: str) -> None:
    """Refuse a name that is not ``OWNER/NAME``."""
    if not _REPOSITORY.fullmatch(name):
        raise ModelError(f"{place}: expected OWNER/NAME of a repository on the hub, found {name!r}")


def _download(repository: str, revision: str | None, location: str) -> str:
    try:
        return snapshot_download(
            repository,
            revision=revision,
            allow_patterns=[*PLAIN_FILES, *DATASTORE_FILES, CARD],
            library_name="metacross",
        )
    except GatedRepoError:
        raise ModelError(
            f"{location}: access is restricted; ask for it on the page of the repository, "
            "then run hf auth login"
        ) from None
    except RepositoryNotFoundError:
        raise ModelError(
            f"{location}: expected a repository on the hub, found none; check the name, or run "
            "hf auth login if it is private"
        ) from None
    except RevisionNotFoundError:
        raise ModelError(
            f"{location}: expected a commit, branch or tag of {repository}, found no {revision}; "
            f"{HUB}{repository} takes the newest"
        ) from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as problem:
        raise ModelError(_unreachable(location, problem)) from problem
    except HUB_ERRORS as problem:
        raise ModelError(f"{location}: cannot be downloaded: {first_line(problem)}") from problem


def _unreachable(location: str, problem: Exception) -> str:
    offline = isinstance(problem, OfflineModeIsEnabled) or isinstance(
        problem.__cause__, OfflineModeIsEnabled
    )
    remedy = "unset HF_HUB_OFFLINE" if offline else "check the connection"
    return (
        f"{location}: is not in the cache, and the hub cannot be reached; {remedy}, or pass a "
        "model folder"
    )
