"""The folder of a training: what went into it, its log and its checkpoints."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import time
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from metacross.baseline_settings import BASELINE_GROUPS
from metacross.errors import RunError
from metacross.model.model_mark import is_model_folder
from metacross.settings_group import SettingsGroup
from metacross.text.folder_lock import locked_folder
from metacross.text.sentence import Corpus
from metacross.text.stored_sentences import StoredSentences
from metacross.text.writing import json_line, write_atomically
from metacross.training.checkpoints import History

# Settings that do not change the outcome of a training, and names of files that are compared by
# their content.
_IRRELEVANT = {
    ("run", "device"),
    ("run", "threads"),
    ("run", "checkpoint_every"),
    ("run", "batch_pieces"),
    ("run", "gradient_cache_mb"),
    ("run", "gradient_folder"),
    ("run", "gradient_folder_mb"),
    ("run", "frozen_cache_mb"),
    ("run", "mmap_above"),
    ("data", "source"),
    ("data", "dev"),
    ("encoder", "name"),
}
_AS_BEFORE = {("run", "blocks"): None, ("retrieval", "split_languages"): False}
"""Values with which everything is as before the setting existed: earlier results stay valid."""
AFTER_TRAINING = ("adaptation", "prediction", "fine_tuning")  # training does not use them


class RunFolder:
    """``recipe.yaml``, and under ``training`` the record, the log and the checkpoints. When the
    training is finished, the folder is a model folder too.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.training = self.folder / "training"

    @property
    def record(self) -> Path:
        """What went into the training: recipe, digests of the data, versions."""
        return self.training / "run.json"

    @property
    def log(self) -> Path:
        """A line of JSON for every step."""
        return self.training / "log.jsonl"

    def start(self, settings: SettingsGroup, ingredients: Mapping[str, str]) -> None:
        """Write the record, or check that an existing one is of the same training.

        ``ingredients`` are digests of what goes in, such as the source corpus. Settings of
        adaptation, prediction and fine-tuning may differ from the record.
        """
        if self.record.exists():
            record = self._read()
            self._check_same(record, settings, ingredients)
            after = settings.model_dump(mode="json", include=set(AFTER_TRAINING))
            recipe = record["recipe"] | after
            if recipe != record["recipe"]:
                self._write(record | {"recipe": recipe})
            return
        if any(self.folder.glob("*.safetensors")):
            raise RunError(f"{self.folder}: expected an empty folder, found a model")
        self._write(
            {
                "recipe": settings.model_dump(mode="json"),
                "ingredients": dict(ingredients),
                "versions": package_versions(),
                "python": platform.python_version(),
                "machine": f"{platform.system()} {platform.machine()}",
                "begun": _now(),
            }
        )

    @property
    def blocks(self) -> int | None:
        """Into how many blocks the training here cuts its steps; None: there is no training."""
        if not self.record.exists():
            return None
        return self._read()["recipe"]["run"].get("blocks") or 1

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the folder; refuse if another process trains in it. The lock ends with
        its process, however that ends.
        """
        with locked_folder(
            self.training,
            f"{self.folder}: another process is training here; wait for it, or choose another "
            "folder",
        ):
            yield

    def finish(self, history: History) -> None:
        """Add the outcome to the record."""
        record = self._read()
        record["ended"] = _now()
        record["seconds"] = round(history.seconds, 1)
        record["best_step"], record["best_dev_f1"] = history.best_step, history.best_f1
        record["validations"] = [list(pair) for pair in history.validations]
        self._write(record)

    def is_of(self, settings: SettingsGroup, ingredients: Mapping[str, str]) -> bool:
        """Whether the training here has these settings, this encoder and these ingredients."""
        try:
            record = self._read()
            self._check_same(record, settings, ingredients)
        except RunError:
            return False
        encoder: dict[str, Any] = settings.model_dump()["encoder"]
        return bool(record["recipe"]["encoder"]["name"] == encoder["name"])

    def _check_same(
        self, record: Mapping[str, Any], settings: SettingsGroup, ingredients: Mapping[str, str]
    ) -> None:
        remedy = "choose another folder, or remove this one"
        defaults = type(settings)().model_dump(mode="json")  # of settings newer than the record
        for group, values in compared_settings(settings).items():
            for key, value in values.items():
                before = record["recipe"].get(group, {}).get(key, defaults[group][key])
                if before != value:
                    raise RunError(
                        f"{self.folder}: holds a training with {group}.{key} = {before!r}, "
                        f"now {value!r}; {remedy}"
                    )
        for name, digest in ingredients.items():
            if record["ingredients"].get(name) != digest:
                raise RunError(f"{self.folder}: holds a training with another {name}; {remedy}")

    def _read(self) -> dict[str, Any]:
        try:
            record: dict[str, Any] = json.loads(self.record.read_text("utf-8"))
        except (OSError, ValueError) as problem:
            raise RunError(f"{self.record}: cannot be read: {problem}") from problem
        return record

    def _write(self, record: Mapping[str, Any]) -> None:
        self.training.mkdir(parents=True, exist_ok=True)
        write_atomically(self.record, [json.dumps(record, indent=2, ensure_ascii=False) + "\n"])
        recipe = yaml.safe_dump(record["recipe"], sort_keys=False, allow_unicode=True)
        write_atomically(self.folder / "recipe.yaml", [recipe])


def finished_training(
    folder: Path, settings: SettingsGroup, ingredients: Mapping[str, str]
) -> Path | None:
    """The training run among those of a folder that ended with the same model; None: there is
    none.
    """
    runs = (RunFolder(path.parent.parent) for path in sorted(folder.glob("*/training/run.json")))
    finished = (run for run in runs if is_model_folder(run.folder))
    same = (run.folder for run in finished if run.is_of(settings, ingredients))
    return next(same, None)


def relevant_settings(settings: SettingsGroup) -> dict[str, dict[str, Any]]:
    """The settings on which the outcome of a training depends."""
    relevant = _relevant_groups(settings, unused=(*BASELINE_GROUPS, "prediction"))
    for (group, key), value in _AS_BEFORE.items():
        if relevant.get(group, {}).get(key, ...) == value:
            del relevant[group][key]
    return relevant


def compared_settings(settings: SettingsGroup) -> dict[str, dict[str, Any]]:
    """The settings in which a training must agree with one that is in its folder."""
    compared = _relevant_groups(settings, unused=(*BASELINE_GROUPS, *AFTER_TRAINING))
    run = compared["run"]
    if run.get("blocks") is None:  # any number will do
        run.pop("blocks", None)
    return compared


def _relevant_groups(
    settings: SettingsGroup, *, unused: Collection[str]
) -> dict[str, dict[str, Any]]:
    return {
        group: {key: value for key, value in values.items() if (group, key) not in _IRRELEVANT}
        for group, values in settings.model_dump(mode="json").items()
        if group not in unused
    }


def package_versions() -> dict[str, str]:
    """The versions of the packages that a training depends on."""
    packages = ("metacross", "torch", "transformers", "tokenizers", "numpy")
    return {name: version(name) for name in packages}


def corpus_digest(corpus: Corpus) -> str:
    """A digest of all words and entities of a corpus."""
    if isinstance(corpus.sentences, StoredSentences):
        return corpus.sentences.digest  # of the same lines
    digest = hashlib.sha256()
    for sentence in corpus:
        digest.update(json_line(sentence).encode())
    return digest.hexdigest()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
