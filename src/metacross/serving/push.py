"""Pushes a model to the Hugging Face hub, with or without its source sentences."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import yaml
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

from metacross.errors import ModelError, SettingsError
from metacross.model.baseline_record import RECORD, shared_record
from metacross.model.card_reading import card_of_folder, content_of_card, written_by_metacross
from metacross.model.encoder_files import first_line
from metacross.model.hub_models import (
    DATASTORE_FILES,
    HUB_ERRORS,
    NETWORK_ERRORS,
    PLAIN_FILES,
    check_repository,
)
from metacross.model.model_card import CARD, HUB, CardContent, ModelDescription
from metacross.model.model_mark import MARK, describe_model, mark_text
from metacross.model.training_facts import shown_name
from metacross.serving.card import card_of, given_content

SourceChoice: TypeAlias = Literal["keep", "drop"]
_NO_LICENSE = ("unknown", "none", "other")
_PUSHABLE = ("crf", "bilstm-crf")  # taggers without an encoder


@dataclass(frozen=True, slots=True)
class PushedModel:
    """What was pushed, or would be: the files with their sizes in bytes.

    ``location`` is for :func:`metacross.load`; it has a commit unless nothing was pushed.
    ``adapts`` says whether the pushed model adapts.
    """

    location: str
    files: dict[str, int]
    adapts: bool


def push(
    model: str | Path,
    repository: str,
    *,
    source: SourceChoice | None = None,
    source_license: str | None = None,
    license_id: str | None = None,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
) -> PushedModel:
    """Push a model folder to ``OWNER/NAME`` on the hub, with a new card.

    A folder of a model that adapts contains the source corpus. ``source="keep"`` publishes it and
    needs ``source_license``; ``source="drop"`` leaves it out, and the pushed model does not adapt.
    ``revision`` is a branch. ``dry_run`` makes the files and pushes nothing.
    """
    check_repository(repository, "push")
    folder = Path(model)
    description = describe_model(folder)
    if description.tagger not in (None, *_PUSHABLE):
        raise ModelError(
            f"{folder}: expected a model with an encoder or a CRF to push, found several in one "
            f"({description.tagger}); push them one by one"
        )
    _check_license(folder, description, source, source_license)
    content = given_content(
        content_of_card(card_of_folder(folder) or ""), license_id, source_license
    )
    with _staged_model(folder, description, content, f"{HUB}{repository}", source) as staged:
        files = {
            path.relative_to(staged).as_posix(): path.stat().st_size
            for path in sorted(staged.rglob("*"))
            if path.is_file()
        }
        adapts = describe_model(staged).adapts
        if dry_run:
            return PushedModel(f"{HUB}{repository}", files, adapts)
        commit = _upload(staged, repository, private=private, revision=revision)
    return PushedModel(f"{HUB}{repository}@{commit}", files, adapts)


def _check_license(
    folder: Path,
    model: ModelDescription,
    source: SourceChoice | None,
    source_license: str | None,
) -> None:
    if not model.has_datastore:
        if source == "keep":
            raise SettingsError(f"--source keep: {folder} holds no source sentences; leave it out")
        return
    if source is None:
        facts = model.facts.source if model.facts else None
        corpus = f" ({facts.sentences:,} sentences of {facts.name})" if facts else ""
        raise SettingsError(
            f"{folder}: the model holds its source corpus{corpus}; say --source keep "
            "--source-license ID if it may be published, or --source drop to push a model that "
            "does not adapt"
        )
    if source == "keep" and (not source_license or source_license.lower() in _NO_LICENSE):
        raise SettingsError(
            "--source keep: expected the license that allows to publish the source corpus, as in "
            f"--source-license cc-by-4.0, found {source_license or 'none'}; or say --source drop"
        )


@contextlib.contextmanager
def _staged_model(
    folder: Path,
    model: ModelDescription,
    content: CardContent,
    location: str,
    source: SourceChoice | None,
) -> Iterator[Path]:
    """A temporary folder with exactly the files to push; other files of the folder stay here."""
    patterns = (*PLAIN_FILES, *(DATASTORE_FILES if source == "keep" else ()))
    if source != "keep":
        content = replace(content, source_license=None)
        model = replace(model, adapts=False)
    with tempfile.TemporaryDirectory(prefix="metacross-push-") as temporary:
        staged = Path(temporary)
        for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
            target = staged / path.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
        (staged / MARK).write_text(mark_text(model, model.tagger), "utf-8")
        (staged / "recipe.yaml").write_text(_shared_recipe(staged / "recipe.yaml"), "utf-8")
        if model.baseline is not None:
            (staged / RECORD).write_text(shared_record(staged), "utf-8")
        card = card_of_folder(folder)
        if card is None or written_by_metacross(card):
            card = card_of(staged, content, location=location)
        (staged / CARD).write_text(card, "utf-8")
        yield staged


def _shared_recipe(path: Path) -> str:
    """The recipe without the folders of this machine."""
    values = yaml.safe_load(path.read_text("utf-8"))
    for group, key in (("data", "source"), ("data", "dev")):
        name = values.get(group, {}).get(key)
        if name is not None:
            values[group][key] = shown_name(name)
    encoder = values.get("encoder", {}).get("name", "")
    if Path(encoder).exists():
        values["encoder"]["name"] = Path(encoder).name
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def _upload(staged: Path, repository: str, *, private: bool, revision: str | None) -> str:
    """Make the repository hold exactly these files of a model; the commit."""
    api = HfApi(library_name="metacross")
    try:
        api.create_repo(repository, private=private or None, exist_ok=True)
        if private and not api.repo_info(repository).private:
            raise ModelError(
                f"{HUB}{repository}: expected a private repository, found a public one; make it "
                "private on its page, or leave out --private"
            )
        if revision is not None:
            api.create_branch(repository, branch=revision, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository,
            folder_path=staged,
            revision=revision,
            commit_message="Push a metacross model",
            delete_patterns=[*PLAIN_FILES, *DATASTORE_FILES],
        )
    except HUB_ERRORS as problem:
        raise ModelError(_upload_problem(repository, problem)) from problem
    return str(commit.oid)


def _upload_problem(repository: str, problem: Exception) -> str:
    place = f"{HUB}{repository}: cannot be pushed"
    status = problem.response.status_code if isinstance(problem, HfHubHTTPError) else None
    if isinstance(problem, OfflineModeIsEnabled):
        return f"{place}: offline; unset HF_HUB_OFFLINE"
    if isinstance(problem, LocalTokenNotFoundError) or status == 401:
        return f"{place}: no valid token; run hf auth login, or set HF_TOKEN"
    if status == 403:
        return f"{place}: your token may not write there; use one with write access"
    if status is None and isinstance(problem, NETWORK_ERRORS):
        return f"{place}: the hub cannot be reached; check the connection"
    return f"{place}: {first_line(problem)}"
