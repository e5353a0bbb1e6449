"""Saves a model to a folder and loads it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from metacross.errors import ModelError
from metacross.model.array_file import Array, MappedArray, StackedArray, write_array
from metacross.model.baseline_record import baseline_facts
from metacross.model.card_reading import card_of_folder, content_of_card, written_by_metacross
from metacross.model.encoder import (
    Encoder,
    load_encoder,
    load_tagger_network,
    save_network,
    sentence_pooling,
)
from metacross.model.model_card import CARD, ModelDescription, card_text
from metacross.model.remembered import (
    REMEMBERED,
    Remembered,
    read_remembered,
    vectors_digest,
    write_remembered,
)
from metacross.model.sentence_encoder import SentenceEncoder, Vectors, pretrained_twin
from metacross.model.tagger import Tagger
from metacross.model.tokenizer import check_vocabulary, load_tokenizer
from metacross.model.training_facts import TrainingFacts, facts_from_json
from metacross.settings import Settings, validated
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence
from metacross.text.stored_sentences import StoredSentences, count_lines
from metacross.text.tags import TagSet
from metacross.text.word_grouping import WordGrouper
from metacross.text.writing import write_corpus

FORMAT = 1
MARK = "metacross.json"  # written last: a folder with it is complete
SOURCE = "source.jsonl"
_VECTORS, _PRETRAINED, _SENTENCE_ENCODER = (
    "source_vectors.safetensors",
    "pretrained.safetensors",
    "sentence_encoder",
)
SOURCE_FILES = (SOURCE, _VECTORS, _PRETRAINED)
"""What adaptation needs, besides the folder of another sentence encoder."""


@dataclass(frozen=True, slots=True)
class Datastore:
    """What a model adapts to: source sentences, their vectors, and the encoder that made them.

    ``remembered`` are labeled sentences that joined later; their positions follow the source's.

    ``pretrained`` holds the weights of the tagger's encoder from before training. If another
    encoder makes the vectors, it is ``outside`` and ``pretrained`` is None.
    """

    source: Corpus
    vectors: Vectors | MappedArray
    sentence_encoder: SentenceEncoder
    pretrained: Mapping[str, Tensor] | None
    outside: Encoder | None
    remembered: tuple[Remembered, ...] = ()

    @property
    def all_vectors(self) -> Array:
        """The vectors of source and remembered sentences. *Shape:* (sentences, width)."""
        if not self.remembered:
            return self.vectors
        return StackedArray(self.vectors, self.remembered_vectors)

    @property
    def remembered_vectors(self) -> Vectors:
        """The vectors of remembered sentences. *Shape:* (sentences, width)."""
        width = self.vectors.shape[1]
        return np.array([r.vector for r in self.remembered], np.float32).reshape(-1, width)

    def sentence_at(self, position: int) -> tuple[Sentence, str | None]:
        """A sentence, and its id if it is remembered; None if it is a source sentence."""
        if position < len(self.source):
            return self.source[position], None
        remembered = self.remembered[position - len(self.source)]
        return remembered.sentence, remembered.id

    @property
    def uses_tagger_tokenizer(self) -> bool:
        """Whether sentence vectors are made from the same windows as the tagger reads."""
        return self.outside is None


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
    write the mark last.
    """
    unfinished = folder / ".unfinished"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        write(unfinished)
        (folder / MARK).unlink(missing_ok=True)
        if not (unfinished / REMEMBERED).exists():
            (folder / REMEMBERED).unlink(missing_ok=True)  # another model's
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


def _write_parts(parts: ModelParts, folder: Path) -> None:
    save_network(parts.tagger.network, parts.tagger.tokenizer, folder)
    (folder / "recipe.yaml").write_text(parts.settings.as_yaml(), encoding="utf-8")
    datastore = parts.datastore
    if datastore is None:
        return
    _write_source(datastore.source, folder / SOURCE)
    write_array(folder / _VECTORS, "vectors", datastore.vectors)
    if datastore.remembered:
        write_remembered(folder, datastore.remembered, vectors_digest(datastore.vectors))
    if datastore.pretrained is not None:
        save_file(dict(datastore.pretrained), folder / _PRETRAINED)
    if datastore.outside is not None:
        save_network(
            datastore.outside.network, datastore.outside.tokenizer, folder / _SENTENCE_ENCODER
        )


def _write_source(source: Corpus, path: Path) -> None:
    if isinstance(source.sentences, StoredSentences):
        shutil.copyfile(source.sentences.path, path)
    else:
        write_corpus(source, path)


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


def mark_text(model: ModelDescription, tagger: str | None = None) -> str:
    """The text of ``metacross.json``. ``tagger`` is the kind of a tagger without an encoder."""
    mark: dict[str, Any] = {"format": FORMAT, "labels": model.labels, "adapts": model.adapts}
    if tagger is not None:
        mark["tagger"] = tagger
    if model.facts is not None:
        mark["training"] = model.facts.model_dump(mode="json")
    return json.dumps(mark, indent=2, ensure_ascii=False) + "\n"


def describe_model(folder: str | Path) -> ModelDescription:
    """What a model folder says of itself, without loading its weights."""
    folder = Path(folder)
    mark = _mark(folder)
    has_datastore = (folder / SOURCE).exists()
    return ModelDescription(
        labels=tuple(mark["labels"]),
        adapts=bool(mark["adapts"]) and has_datastore,
        has_datastore=has_datastore,
        settings=_settings(folder, "auto"),
        facts=facts_from_json(mark.get("training")),
        tagger=tagger_kind(folder),
        baseline=baseline_facts(folder),
    )


def load_model(
    folder: str | Path,
    *,
    device: str = "auto",
    change: Callable[[Settings], Settings] | None = None,
) -> ModelParts:
    """Load a model folder; ``change`` makes the settings to use from the saved ones."""
    folder = Path(folder)
    mark = _mark(folder)
    saved = _settings(folder, device)
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
    datastore = _datastore(folder, tagger, settings) if (folder / SOURCE).exists() else None
    if datastore is not None and settings.encoder.words != saved.encoder.words:
        _check_same_words(datastore.source, saved, tagger, folder)
        _check_same_words((r.sentence for r in datastore.remembered), saved, tagger, folder)
    adapts = bool(mark["adapts"]) and datastore is not None
    facts = facts_from_json(mark.get("training"))
    return ModelParts(tagger, settings, datastore, adapts, facts)


def is_model_folder(folder: str | Path) -> bool:
    """Whether a folder holds a complete model."""
    return (Path(folder) / MARK).exists()


def model_files(folder: str | Path) -> list[Path]:
    """The files of a model, relative to its folder; the mark of a complete folder is last.

    Checkpoints and other folders that training or users put there do not belong to the model.
    """
    folder = Path(folder)
    _mark(folder)
    paths = [*folder.iterdir(), *(folder / _SENTENCE_ENCODER).glob("*")]
    files = {path.relative_to(folder) for path in paths if path.is_file()}
    visible = sorted(file for file in files if not file.name.startswith("."))
    return sorted(visible, key=lambda file: file.name == MARK)


def saved_labels(folder: str | Path) -> tuple[str, ...]:
    """The entity types of a model, read without loading it."""
    return tuple(_mark(Path(folder))["labels"])


def tagger_kind(folder: str | Path) -> str | None:
    """The kind of a model's tagger; None: an encoder with a linear layer."""
    kind = _mark(Path(folder)).get("tagger")
    return None if kind is None else str(kind)


def saved_settings(folder: str | Path, device: str = "auto") -> Settings:
    """The settings of a model folder."""
    return _settings(Path(folder), device)


def _mark(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing there"
        raise ModelError(f"{folder}: expected a model folder, found {found}")
    if not is_model_folder(folder):
        hint = "; its training is not finished" if (folder / "training").exists() else ""
        raise ModelError(f"{folder}: expected {MARK} in the model folder, found none{hint}")
    mark = _read(folder / MARK, json.loads)
    if not isinstance(mark, dict) or not {"format", "labels", "adapts"} <= mark.keys():
        raise ModelError(f"{folder / MARK}: expected format, labels and adapts, found {mark!r}")
    if mark["format"] != FORMAT:
        raise ModelError(
            f"{folder}: expected a model of format {FORMAT}, found {mark['format']}; "
            f"a newer metacross wrote it"
        )
    return mark


def _settings(folder: Path, device: str) -> Settings:
    values = _read(folder / "recipe.yaml", yaml.safe_load)
    if not isinstance(values, dict):
        raise ModelError(f"{folder / 'recipe.yaml'}: expected settings, found {values!r}")
    values.setdefault("run", {}).update(
        device=device, threads=None, gradient_folder=None
    )  # of this machine
    values.setdefault("encoder", {}).setdefault("words", "given")  # as before there was a choice
    return validated(Settings, values)


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


def _read(path: Path, parse: Callable[[str], Any]) -> Any:  # noqa: ANN401 - JSON or YAML
    try:
        return parse(path.read_text("utf-8"))
    except OSError as problem:
        raise ModelError(f"{path}: cannot be read: {problem.strerror}") from problem
    except (ValueError, yaml.YAMLError) as problem:
        reason = " ".join(str(problem).split())[:200]
        raise ModelError(f"{path}: cannot be parsed: {reason}") from problem


def _datastore(folder: Path, tagger: Tagger, settings: Settings) -> Datastore:
    source = _source(folder / SOURCE, settings.run.mmap_above)
    vectors = _vectors(folder / _VECTORS, settings.run.mmap_above)
    if len(vectors) != len(source):
        raise ModelError(
            f"{folder}: expected a vector for each of {len(source):,} source sentences, "
            f"found {len(vectors):,}"
        )
    remembered: tuple[Remembered, ...] = ()
    if (folder / REMEMBERED).exists():
        remembered = read_remembered(folder, vectors_digest(vectors))
        _check_width(remembered, vectors.shape[1], folder / REMEMBERED)
    if settings.retrieval.encoder is None:
        pretrained = _tensors(folder / _PRETRAINED)
        _check_names(pretrained, tagger, folder)
        encoder = pretrained_encoder(tagger, pretrained, settings)
        return Datastore(source, vectors, encoder, pretrained, None, remembered)
    outside = load_encoder(str(folder / _SENTENCE_ENCODER))
    encoder = outside_encoder(outside, settings, tagger)
    return Datastore(source, vectors, encoder, None, outside, remembered)


def _check_width(remembered: Sequence[Remembered], width: int, path: Path) -> None:
    for item in remembered:
        if len(item.vector) != width:
            raise ModelError(
                f"{path}: expected vectors of {width} numbers, found {len(item.vector)} for the "
                f"sentence {item.id}; metacross forget takes it back"
            )


def _source(path: Path, max_in_memory: int) -> Corpus:
    """The source sentences, in memory unless they are too many."""
    try:
        if count_lines(path) > max_in_memory:
            return Corpus(StoredSentences(path), source=str(path))
    except OSError as problem:
        raise ModelError(f"{path}: cannot be read: {problem.strerror}") from problem
    return read_corpus(path)


def _vectors(path: Path, max_in_memory: int) -> Vectors | MappedArray:
    """The vectors of the source sentences, in memory unless they are too many."""
    try:
        mapped = MappedArray(path)
    except (OSError, ValueError) as problem:
        raise ModelError(f"{path}: cannot be read as safetensors: {problem}") from problem
    return mapped if len(mapped) > max_in_memory else mapped[:]


def pretrained_encoder(
    tagger: Tagger, pretrained: Mapping[str, Tensor], settings: Settings
) -> SentenceEncoder:
    """The sentence encoder for the tagger's encoder, with its weights from before training."""
    twin = pretrained_twin(tagger.network, pretrained)
    cutter = tagger.window_cutter
    pooling = sentence_pooling(twin, cutter.special, settings.retrieval.pooling)
    return SentenceEncoder(twin, cutter, pooling, tagger.device, tagger.word_grouper)


def outside_encoder(outside: Encoder, settings: Settings, tagger: Tagger) -> SentenceEncoder:
    """The sentence encoder for an encoder other than the tagger's."""
    pieces = outside.tokenizer.window_cutter(
        max_length=settings.encoder.max_length, overlap=settings.encoder.overlap
    )
    pooling = sentence_pooling(outside.network, pieces.special, settings.retrieval.pooling)
    return SentenceEncoder(outside.network, pieces, pooling, tagger.device, tagger.word_grouper)


def _check_names(pretrained: Mapping[str, Tensor], tagger: Tagger, folder: Path) -> None:
    unknown = [name for name in pretrained if name not in tagger.trainable]
    if unknown:
        raise ModelError(
            f"{folder / _PRETRAINED}: expected weights of the tagger, found {unknown[0]}"
        )


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as problem:
        raise ModelError(f"{path}: cannot be read as safetensors: {problem}") from problem


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before hours of training."""
    probe = folder / f".probe.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text("")
    except OSError as problem:
        raise ModelError(f"{folder}: cannot be written: {problem.strerror}") from problem
    probe.unlink(missing_ok=True)
