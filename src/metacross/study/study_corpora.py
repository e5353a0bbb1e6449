"""Reads the corpora of a study and groups its targets by their labels."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metacross.errors import DataError, SettingsError
from metacross.settings import DataSettings
from metacross.study.plan import Study
from metacross.text.bundled_corpus import TARGETS, bundled_corpus
from metacross.text.language_codes import is_language
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus
from metacross.text.source_corpora import read_sources

_LONGEST_NAME = 120  # of the labels, in bytes; file systems allow 255 for the whole name


@dataclass(frozen=True, slots=True)
class Target:
    """A language to transfer to; ``train`` None: there is no labeled text to fine-tune on."""

    name: str
    corpus: Corpus
    train: Corpus | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its entities."""
        return tuple(self.corpus.entities_by_label)


@dataclass(frozen=True, slots=True)
class StudyCorpora:
    """Corpora of one model: it is trained on ``source`` and scored on ``targets``."""

    source: Corpus
    dev: Corpus
    targets: tuple[Target, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the model learns."""
        return tuple(self.source.entities_by_label)

    @property
    def labels_name(self) -> str:
        """The labels as a part of a folder's name. Where they are too long for it, or have
        characters that do not belong there, a digest tells them from others.
        """
        name = "-".join(self.labels)
        safe = re.sub(r"[^\w.-]", "_", name)
        if safe == name and len(name.encode()) <= _LONGEST_NAME:
            return name
        digest = hashlib.sha256(json.dumps(self.labels).encode()).hexdigest()[:8]
        shortened = safe.encode()[: _LONGEST_NAME - 9].decode(errors="ignore")
        return f"{shortened}-{digest}"


def read_study_corpora(study: Study, settings: DataSettings) -> list[StudyCorpora]:
    """Read the corpora of a study. Targets with different labels come in different groups, because
    a model must not know labels that its targets do not have, unless the study has one model.

    ``settings`` drops and renames labels in all corpora and gives the source's language.
    """
    corpora = _bundled() if _uses_bundled(study, settings) else _read(study, settings)
    _check_target_train(study, corpora.targets)
    corpora = _relabeled(corpora, settings)
    groups = _targets_by_labels(corpora)
    if study.one_model:
        return [corpora]
    return [_with_labels(labels, corpora, targets) for labels, targets in groups.items()]


def _uses_bundled(study: Study, settings: DataSettings) -> bool:
    if study.data.source or settings.source:
        return False
    if study.data.dev or study.data.targets or study.data.target_train:
        raise SettingsError("data.source: expected a corpus to train on, with the dev and targets")
    return True


def _bundled() -> StudyCorpora:
    targets = tuple(Target(name, bundled_corpus(name, "test"), None) for name in TARGETS)
    return StudyCorpora(bundled_corpus("en", "train"), bundled_corpus("en", "dev"), targets)


def _read(study: Study, settings: DataSettings) -> StudyCorpora:
    data = study.data
    source, dev = data.source or settings.source, data.dev or settings.dev
    if source is None or dev is None or not data.targets:
        raise SettingsError("data: expected a dev corpus and targets, with the source")
    unknown_targets = sorted(data.target_train.keys() - data.targets.keys())
    if unknown_targets:
        raise SettingsError(
            f"data.target_train: expected languages of the targets "
            f"{', '.join(data.targets)}, found {unknown_targets[0]}"
        )
    return StudyCorpora(
        read_sources(source, language=settings.language),
        read_sources(dev, language=settings.language),
        tuple(_read_target(name, study) for name in data.targets),
    )


def _read_target(name: str, study: Study) -> Target:
    train_file = study.data.target_train.get(name)
    language = name if is_language(name) else None  # a target can have any name
    return Target(
        name,
        read_corpus(study.data.targets[name], language=language),
        None if train_file is None else read_corpus(train_file, language=language),
    )


def _check_target_train(study: Study, targets: Sequence[Target]) -> None:
    missing = [target.name for target in targets if target.train is None]
    if any(study.fractions) and missing:
        bundled = "--source, --dev, --target and " if study.data.source is None else ""
        raise SettingsError(
            f"data.target_train: expected labeled sentences of {', '.join(missing)} to draw "
            f"fractions from; give {bundled}--train {missing[0]}=FILE"
        )


def _relabeled(corpora: StudyCorpora, settings: DataSettings) -> StudyCorpora:
    new_labels = {**settings.map, **dict.fromkeys(settings.drop)}
    if not new_labels:
        return corpora
    targets = tuple(
        replace(
            target,
            corpus=target.corpus.relabeled(new_labels),
            train=None if target.train is None else target.train.relabeled(new_labels),
        )
        for target in corpora.targets
    )
    source, dev = (corpus.relabeled(new_labels) for corpus in (corpora.source, corpora.dev))
    return StudyCorpora(source, dev, targets)


def _targets_by_labels(corpora: StudyCorpora) -> dict[tuple[str, ...], list[Target]]:
    source_labels = tuple(corpora.source.entities_by_label)
    groups: dict[tuple[str, ...], list[Target]] = {}
    for target in corpora.targets:
        labels = target.labels
        unknown_labels = [label for label in labels if label not in source_labels]
        if unknown_labels or not labels:
            raise DataError(
                f"{target.corpus.name}: expected entities with the source's labels "
                f"{', '.join(source_labels)}, found {', '.join(unknown_labels) or 'none'}; rename "
                "or drop labels with --set data.map or data.drop"
            )
        _check_train_labels(target, labels)
        groups.setdefault(labels, []).append(target)
    return groups


def _check_train_labels(target: Target, labels: Sequence[str]) -> None:
    train_labels = () if target.train is None else target.train.entities_by_label
    unknown_labels = [label for label in train_labels if label not in labels]
    if target.train is not None and unknown_labels:
        raise DataError(
            f"{target.train.name}: expected the labels {', '.join(labels)} of "
            f"{target.corpus.name}, found {', '.join(unknown_labels)} too; drop labels with "
            "--set data.drop"
        )


def _with_labels(
    labels: Sequence[str], corpora: StudyCorpora, targets: Sequence[Target]
) -> StudyCorpora:
    """These targets, with a source and dev corpus that have no other labels."""
    dropped = {
        label: None
        for corpus in (corpora.source, corpora.dev)
        for label in corpus.entities_by_label
        if label not in labels
    }
    source, dev = (corpus.relabeled(dropped) for corpus in (corpora.source, corpora.dev))
    return StudyCorpora(source, dev, tuple(targets))
