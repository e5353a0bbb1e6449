"""Saves a model to a folder and loads it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from safetensors import SafetensorError

from metacross.errors import ModelError
from metacross.model.baseline_record import RECORD
from metacross.model.card_reading import card_of_folder, content_of_card, written_by_metacross
from metacross.model.datastore import (
    SENTENCE_ENCODER,
    SOURCE,
    SOURCE_FILES,
    Datastore,
    read_datastore,
    write_datastore,
)
from metacross.model.encoder import load_tagger_network, save_network
from metacross.model.model_card import CARD, ModelDescription, card_text
from metacross.model.model_mark import (
    MARK,
    is_model_folder,
    mark_text,
    part_folders,
    read_mark,
    saved_settings,
)
from metacross.model.remembered import REMEMBERED
from metacross.model.tagger import Tagger
from metacross.model.tokenizer import check_vocabulary, load_tokenizer
from metacross.model.training_facts import TrainingFacts, facts_from_json
from metacross.settings import Settings
from metacross.text.sentence import Sentence
from metacross.text.tags import TagSet
from metacross.text.word_grouping import WordGrouper


@dataclass(frozen=True, slots=True)
class ModelParts:
    """The parts of a model; ``datastore`` is None if it cannot adapt, as after fine-tuning.

    ``facts`` are about its training; None if they are unknown.
    """

    tagger: Tagger
    settings: Settings
    datastore: Datastore | None
    adapts: bool
    facts: TrainingFacts | None = None

    @property
    def description(self) -> ModelDescription:
        """What the model card is written from."""
        labels, has_datastore = self.tagger.tag_set.labels, self.datastore is not None
        return ModelDescription(labels, self.adapts, has_datastore, self.settings, self.facts)


def save_model(parts: ModelParts, folder: str | Path) -> None:
    """Write a Hugging Face folder, with the files that adaptation needs: JSON, YAML, safetensors.

    The files are written to a temporary folder and then moved into place.
    """
    folder = Path(folder)

    def write(unfinished: Path) -> None:
        _write_parts(parts, unfinished)
        _write_card(parts, folder, unfinished)

    install_model(folder, write, mark_text(parts.description))


def install_model(folder: Path, write: Callable[[Path], None], mark: str) -> None:
    """Have ``write`` write the files of a model to a temporary folder, move them into place, and
    write the mark last. Sentences and parts of a model that was there before are removed.
    """
    unfinished = folder / ".unfinished"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        write(unfinished)
        old_paths = _paths_of_one_model(folder)
        (folder / MARK).unlink(missing_ok=True)
        for path in old_paths:
            if not (unfinished / path.name).exists():
                _remove(path)
        for file in sorted(unfinished.iterdir()):
            if file.is_dir():
                shutil.rmtree(folder / file.name, ignore_errors=True)
            file.replace(folder / file.name)
        marked = unfinished / MARK
        marked.write_text(mark, encoding="utf-8")
        marked.replace(folder / MARK)
    except (OSError, SafetensorError) as problem:
        raise ModelError(f"{folder}: the model cannot be written: {problem}") from problem
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _paths_of_one_model(folder: Path) -> list[Path]:
    """Files and folders that another model must not find in its folder: sentences to adapt to, the
    models that a model is made of, and what is said of a finished baseline.
    """
    paths = [folder / name for name in (*SOURCE_FILES, REMEMBERED, SENTENCE_ENCODER)]
    if is_model_folder(folder):  # one in training has its record already
        paths.append(folder / RECORD)
        with suppress(ModelError):  # its mark cannot be read
            paths += part_folders(folder)
    return paths


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write_parts(parts: ModelParts, folder: Path) -> None:
    save_network(parts.tagger.network, parts.tagger.tokenizer, folder)
    (folder / "recipe.yaml").write_text(parts.settings.as_yaml(), encoding="utf-8")
    if parts.datastore is not None:
        write_datastore(parts.datastore, folder)


def _write_card(parts: ModelParts, folder: Path, unfinished: Path) -> None:
    """Write a new card with the licenses and notes of the folder's; leave a README that somebody
    else wrote, or that cannot be read, as it is.
    """
    try:
        existing = card_of_folder(folder)
        content = content_of_card(existing or "")
    except ModelError:
        return
    if existing is not None and not written_by_metacross(existing):
        return
    content = replace(content, results=())  # they may be of other weights
    text = card_text(parts.description, content, location=folder.resolve().name)
    (unfinished / CARD).write_text(text, encoding="utf-8")


def load_model(
    folder: str | Path,
    *,
    device: str = "auto",
    change: Callable[[Settings], Settings] | None = None,
) -> ModelParts:
    """Load a model folder; ``change`` makes the settings to use from the saved ones."""
    folder = Path(folder)
    mark = read_mark(folder)
    saved = saved_settings(folder, device)
    settings = saved if change is None else change(saved)
    network, tags = load_tagger_network(folder)
    tokenizer = load_tokenizer(str(folder))
    check_vocabulary(network, tokenizer, str(folder))
    tag_set = TagSet(tuple(mark["labels"]))
    if tag_set.tags != tags:
        raise ModelError(
            f"{folder}: expected the tags {', '.join(tag_set.tags)} of {MARK}, "
            f"found {', '.join(tags)} in config.json"
        )
    tagger = Tagger(network, tokenizer, tag_set, settings.encoder, settings.run)
    datastore = read_datastore(folder, tagger, settings) if (folder / SOURCE).exists() else None
    if datastore is not None and settings.encoder.words != saved.encoder.words:
        _check_same_words(datastore.source, saved, tagger, folder)
        _check_same_words((r.sentence for r in datastore.remembered), saved, tagger, folder)
    if mark["adapts"] and datastore is None:
        raise ModelError(
            f"{folder}: expected {SOURCE}, because the model adapts, found none; copy the model "
            "again"
        )
    facts = facts_from_json(mark.get("training"))
    return ModelParts(tagger, settings, datastore, bool(mark["adapts"]), facts)


def _check_same_words(
    source: Iterable[Sentence], saved: Settings, tagger: Tagger, folder: Path
) -> None:
    """Refuse to read the source sentences in other words than their vectors were made of."""
    before = WordGrouper(saved.encoder.words)
    for sentence in source:
        if before.groups(sentence) != tagger.word_grouper.groups(sentence):
            raise ModelError(
                f"{folder}: encoder.words: expected {saved.encoder.words}, as in training, because "
                f"the source sentences are in a script without spaces, "
                f"found {tagger.word_grouper.mode}; train a new model"
            )
