"""Trains a baseline by its name, and records what went into it."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.baselines.baseline import Baseline
from metacross.baselines.catalog import find_baseline
from metacross.baselines.resources import ResourceFiles, Resources
from metacross.baselines.shared_work import SharedWork
from metacross.baselines.systems import FITS
from metacross.baselines.workshop import Workshop
from metacross.errors import DataError, RunError
from metacross.model.baseline_record import RECORD, read_record
from metacross.model.model_mark import check_writable, is_model_folder
from metacross.model.ranks import refuse_sharing
from metacross.settings import Recipe, Settings, load_settings, settings_with, validated
from metacross.text.language_codes import checked_language
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus
from metacross.text.source_corpora import read_sources
from metacross.text.writing import write_atomically
from metacross.training.callbacks import Callback
from metacross.training.run_folder import corpus_digest, relevant_settings
from metacross.training.train import with_target_casing

PREFIX = "baseline:"


def train_baseline(
    name: str,
    source: Corpus | str | Path | Mapping[str, str | Path],
    *,
    dev: Corpus | str | Path | Mapping[str, str | Path],
    target: str,
    resources: Mapping[str, str | Path] | ResourceFiles | None = None,
    encoder: str | None = None,
    recipe: Recipe | Settings = "paper",
    output: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    shared: Path | None = None,
    target_train: Corpus | str | Path | None = None,
) -> NerModel:
    """Train a system to compare with, for one target language; ``metacross baselines`` lists them.

    ``target`` is the code of the language. ``resources`` are files by name: ``raw_text``,
    ``lexicon``, ``parallel``, ``alignments``, ``vectors``, ``source_vectors``, ``clusters``,
    ``gazetteer``, ``pos``, ``source_pos``. With ``output`` the model is saved there, and a training
    that was stopped resumes. ``shared`` is a folder for models that several targets have in common.
    ``target_train`` is a little labeled target text for the systems that need or use it; others
    refuse it: fine-tune their models instead.

        model = metacross.train_baseline(
            "mayhew", "en/train.conll", dev="en/dev.conll", target="es",
            resources={"lexicon": "en-es.tsv"},
        )
    """
    refuse_sharing("baselines")
    baseline = find_baseline(name.removeprefix(PREFIX))
    settings = recipe if isinstance(recipe, Settings) else load_settings(recipe)
    settings = baseline.with_defaults(settings)
    if encoder is not None:
        settings = settings_with(settings, {"encoder": {"name": encoder}})
    if not isinstance(resources, ResourceFiles):
        files = {key: str(file) for key, file in (resources or {}).items()}
        resources = validated(ResourceFiles, files)
    source, dev = (_relabeled(corpus, settings) for corpus in (source, dev))
    language = checked_language(target) or target
    available = Resources(
        resources, source_language=_language(source, settings), target_language=language
    )
    baseline.check(available, has_target_train=target_train is not None)
    target_text = _target_text(target_train, language, settings)
    if target_text is not None:
        _check_labels(target_text, tuple(source.entities_by_label))
    with ExitStack() as stack:
        folder = output or stack.enter_context(tempfile.TemporaryDirectory(prefix="metacross-"))
        shop = Workshop(
            with_target_casing(source, settings),
            source,
            dev,
            available,
            settings_with(settings, {"data": {"casing": None, "match_casing": None}}),
            Path(folder),
            callbacks,
            None if shared is None else SharedWork(shared),
            target_text,
        )
        return _trained(baseline, shop, _ingredients(baseline, shop, settings))


def _relabeled(
    corpus: Corpus | str | Path | Mapping[str, str | Path], settings: Settings
) -> Corpus:
    data = settings.data
    if not isinstance(corpus, Corpus):
        corpus = read_sources(corpus, language=data.language)
    corpus = corpus.relabeled({**data.map, **dict.fromkeys(data.drop)})
    if not corpus.labeled or not corpus.n_entities:
        raise DataError(f"{corpus.name}: expected labeled entities to learn from, found none")
    return corpus


def _target_text(
    target_train: Corpus | str | Path | None, language: str, settings: Settings
) -> Corpus | None:
    """The labeled target text; one from a file is relabeled like the source."""
    if target_train is None or isinstance(target_train, Corpus):
        return target_train
    return _relabeled(read_corpus(target_train, language=language), settings)


def _check_labels(target_text: Corpus, labels: Sequence[str]) -> None:
    unknown = [label for label in target_text.entities_by_label if label not in labels]
    if unknown:
        raise DataError(
            f"{target_text.name}: expected the source's labels {', '.join(labels)}, found "
            f"{', '.join(unknown)} too; rename or drop labels with --set data.map or data.drop"
        )


def _language(source: Corpus, settings: Settings) -> str | None:
    languages = {sentence.language for sentence in source}
    return settings.data.language or (languages.pop() if len(languages) == 1 else None)


def _trained(baseline: Baseline, shop: Workshop, ingredients: dict[str, Any]) -> NerModel:
    folder = shop.folder
    is_new = not folder.exists()
    check_writable(folder)
    files_before = {path.name for path in folder.iterdir()}
    record = read_record(folder) or {**ingredients, "seconds": 0.0}
    _check_same(record, ingredients, folder)
    if is_model_folder(folder):
        return load(folder, device=shop.settings.run.device)
    record |= {"made_of": baseline.made_of, "cites": baseline.cites}
    _write_record(folder / RECORD, record)
    shared = SharedWork(folder) if shop.shared is None else shop.shared
    began = time.monotonic()
    try:
        if shop.shared is None:  # in a study, what others have made of the resources may suffice
            shop.resources.read(baseline.used(shop.resources.files).given())
        return FITS[baseline.name](shop)
    finally:
        own_seconds = time.monotonic() - began - sum(shared.seconds_here.values())
        record["seconds"] = round(record["seconds"] + own_seconds, 3)
        record["shared_seconds"] = record.get("shared_seconds", {}) | shared.seconds
        _write_record(folder / RECORD, record)
        files = {path.name for path in folder.iterdir()}
        if {RECORD} in (files, files - files_before):  # nothing was trained yet
            (folder / RECORD).unlink()
            if is_new:
                folder.rmdir()


def _check_same(record: Mapping[str, Any], ingredients: Mapping[str, Any], folder: Path) -> None:
    """Refuse a folder in which another baseline was begun, or the same with other ingredients."""
    for key, value in ingredients.items():
        if record.get(key) != value:
            name, difference = record.get("baseline"), _difference(key, record.get(key), value)
            other = name if key == "baseline" else f"{name} with another {difference}"
            raise RunError(
                f"{folder}: holds the baseline {other}; choose another folder, or remove this one"
            )


def _difference(key: str, before: object, now: object) -> str:
    """What differs, in words.

    >>> _difference("settings", {"crf": {"l1": 1}}, {"crf": {"l1": 2}})
    'crf.l1'
    >>> _difference("resources", {"lexicon": "a"}, {})
    'lexicon'
    """
    if not isinstance(before, dict) or not isinstance(now, dict):
        return key.replace("_", " ")
    for name in {**before, **now}:
        old, new = before.get(name), now.get(name)
        if old != new:
            inner = _difference("", old, new)
            return f"{name}.{inner}" if inner else str(name)
    return ""


def _ingredients(baseline: Baseline, shop: Workshop, settings: Settings) -> dict[str, Any]:
    """What the outcome depends on."""
    return {
        "baseline": baseline.name,
        "target": shop.language,
        "source": corpus_digest(shop.source),
        "dev": corpus_digest(shop.dev),
        "encoder": settings.encoder.name,
        "resources": shop.resources.files.digests(),
        "target_train": shop.target_train and corpus_digest(shop.target_train),
        "settings": relevant_settings(settings)
        | {"prediction": settings.prediction.model_dump(mode="json")}
        | baseline.settings_read(settings),
    }


def _write_record(path: Path, record: Mapping[str, Any]) -> None:
    write_atomically(path, [json.dumps(record, indent=2, ensure_ascii=False) + "\n"])


def training_seconds(folder: Path) -> float:
    """How long the training of a baseline in a folder took, in all sessions, with that of models
    that it shares with others.
    """
    record = read_record(folder)
    if record is None:
        return 0.0
    shared: dict[str, float] = record.get("shared_seconds", {})
    return float(record["seconds"]) + sum(shared.values())
