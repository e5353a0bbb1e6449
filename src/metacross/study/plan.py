"""Says what a study consists of: which systems are trained on what, and where they are scored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, field_validator

from metacross.errors import DataError, SettingsError
from metacross.settings import Settings, SettingsGroup, load_settings, validated, yaml_mapping
from metacross.text.bundled_corpus import TARGETS, bundled_corpus
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus
from metacross.training.run_folder import AFTER_TRAINING, relevant_settings

_TRAIN = "target train corpus"
_QUICK = (
    "direct.steps=120",
    "direct.batch_size=8",
    "meta.steps=120",
    "meta.tasks_per_step=8",
    "run.validate_every=30",
    "run.checkpoint_every=10",
)


Name = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]  # it becomes a part of file names
Fraction = Annotated[float, Field(ge=0, le=1)]


class StudyData(SettingsGroup):
    """Corpora by their files; ``source`` null means the corpus that comes with metacross."""

    source: str | None = Field(None, description="labeled corpus to train on")
    dev: str | None = Field(None, description="corpus to choose the best weights by")
    targets: dict[Name, str] = Field({}, description="language: labeled corpus to score on")
    target_train: dict[Name, str] = Field({}, description="language: corpus to draw fractions from")


class Study(SettingsGroup):
    """Systems, seeds and settings.

    A system is what it changes in the recipe. A fraction of 0 means zero-shot; others are fractions of a
    target's own labeled sentences to fine-tune on.
    """

    title: str = Field(description="of the report")
    systems: dict[Name, list[str]] = Field(min_length=1, description="name: changes to the recipe")
    recipe: str | None = Field(None, description="null: mini for the bundled encoder, else paper")
    encoder: str | None = Field(None, description="null: the recipe's")
    fractions: list[Fraction] = Field(
        [0.0], min_length=1, description="of labeled target sentences"
    )
    seeds: list[int] = Field([1, 2, 3], min_length=1, description="each trains anew")
    change: list[str] = Field([], description="changes to the recipe for all systems")
    curve_sentences: int = Field(
        500, ge=0, description="of each target, scored at every validation for the report only"
    )
    data: StudyData = StudyData()

    @field_validator("fractions", "seeds")
    @classmethod
    def _once(cls, given: list[float]) -> list[float]:
        if len(set(given)) < len(given):
            raise ValueError("each of them once is expected")
        return given


def study_names() -> list[str]:
    """The studies that come with metacross."""
    folder = resources.files("metacross") / "studies"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir())


def load_study(
    name: str,
    changes: Mapping[str, object],
    *,
    data: Mapping[str, object] = MappingProxyType({}),
    settings: Sequence[str] = (),
) -> Study:
    """Read a study by its name or from a YAML file. ``changes`` and ``data`` replace what it says
    there; ``settings`` come after its own changes to the recipe.
    """
    if name in study_names():
        text = (resources.files("metacross") / "studies" / f"{name}.yaml").read_text("utf-8")
    else:
        try:
            text = Path(name).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise SettingsError(
                f"{name}: expected a YAML file or a study of {', '.join(study_names())}"
            ) from None
    values = {**yaml_mapping(text, name), **changes}
    if data:
        values["data"] = {**(values.get("data") or {}), **data}
    try:
        study = validated(Study, values)
    except SettingsError as problem:
        raise SettingsError(f"{name}: {problem}") from None
    return study.model_copy(update={"change": [*study.change, *settings]})


def quick(study: Study) -> Study:
    """The same with few steps and one seed, to see it all work."""
    return study.model_copy(update={"seeds": study.seeds[:1], "change": [*_QUICK, *study.change]})


@dataclass(frozen=True, slots=True)
class Target:
    """A language to transfer to; ``train`` is None where there is nothing to fine-tune on."""

    name: str
    corpus: Corpus
    train: Corpus | None


@dataclass(frozen=True, slots=True)
class SystemRun:
    """A system to train with a seed, for the targets that have just these labels.

    ``trained_as`` is the first system with the same training, which serves both; ``training`` has
    the settings of that one.
    """

    system: str
    trained_as: str
    training: Settings
    seed: int
    labels: tuple[str, ...]
    settings: Settings
    source: Corpus
    dev: Corpus
    targets: tuple[Target, ...]
    fractions: tuple[float, ...]

    @property
    def folder(self) -> str:
        """Name of the folder of its training."""
        return f"{self.trained_as}_{'-'.join(self.labels)}_seed-{self.seed}"

    @property
    def title(self) -> str:
        """What to call it on the screen."""
        return f"{self.system}, {len(self.labels)} labels, seed {self.seed}"

    @property
    def parts(self) -> list[tuple[Target, float]]:
        """Targets and fractions to score it in."""
        return [(target, fraction) for target in self.targets for fraction in self.fractions]

    def serves(self, labels: tuple[str, ...], settings: Settings) -> bool:
        """Whether a system with these settings would be trained just as this one."""
        used = {*Settings.model_fields} - {*AFTER_TRAINING}
        same = self.training.model_dump(include=used) == settings.model_dump(include=used)
        return self.labels == labels and same

    def corpora(self, target: Target) -> dict[str, Corpus]:
        """What goes in, beside the recipe."""
        corpora = {
            "source corpus": self.source,
            "dev corpus": self.dev,
            "target corpus": target.corpus,
        }
        return corpora if target.train is None else corpora | {_TRAIN: target.train}

    def key(self, digests: Mapping[str, str], fraction: float) -> str:
        """Stands for all that a result depends on."""
        recipe = relevant_settings(self.settings)
        zero_shot = fraction == 0
        del recipe["fine_tuning" if zero_shot else "adaptation"]
        read = [own for own in sorted(digests.items()) if not zero_shot or own[0] != _TRAIN]
        whole = [self.system, recipe, self.labels, read, self.seed, fraction]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]


def fraction_name(fraction: float) -> str:
    """What a fraction of labeled target sentences is called.

    >>> fraction_name(0), fraction_name(0.02)
    ('zero-shot', '2%')
    """
    return "zero-shot" if fraction == 0 else f"{100 * fraction:g}%"


def plan_system_runs(study: Study) -> list[SystemRun]:
    """All trainings of a study; seed after seed, so that what is there early is comparable."""
    source, dev, targets = _corpora(study)
    system_runs: list[SystemRun] = []
    by_types = _by_types(source, targets)
    read = {labels: _with_types(labels, source, dev) for labels in by_types}
    for seed in study.seeds:
        for labels, own in by_types.items():
            for system, changes in study.systems.items():
                settings = _settings(study, [*study.change, *changes, f"run.seed={seed}"])
                first = next(
                    (
                        system_run
                        for system_run in system_runs
                        if system_run.serves(labels, settings)
                    ),
                    None,
                )
                system_run = SystemRun(
                    system=system,
                    trained_as=first.trained_as if first else system,
                    training=first.training if first else settings,
                    seed=seed,
                    labels=labels,
                    settings=settings,
                    source=read[labels][0],
                    dev=read[labels][1],
                    targets=tuple(own),
                    fractions=tuple(study.fractions),
                )
                system_runs.append(system_run)
    return system_runs


def _with_types(labels: Sequence[str], *corpora: Corpus) -> tuple[Corpus, ...]:
    """The corpora without entities of other labels."""
    dropped = {
        label: None for own in corpora for label in own.entities_by_label if label not in labels
    }
    return tuple(own.relabeled(dropped) for own in corpora)


def _settings(study: Study, changes: Sequence[str]) -> Settings:
    recipe = study.recipe or ("mini" if study.encoder in ("mini", None) else "paper")
    named = [] if study.encoder is None else [f"encoder.name={json.dumps(study.encoder)}"]
    return load_settings(recipe, [*named, *changes])


def _corpora(study: Study) -> tuple[Corpus, Corpus, list[Target]]:
    data = study.data
    if data.source is None:
        if data.dev or data.targets or data.target_train:
            raise SettingsError("data.source: expected a corpus beside dev and targets")
        source, dev = bundled_corpus("en", "train"), bundled_corpus("en", "dev")
        targets = [Target(name, bundled_corpus(name, "test"), None) for name in TARGETS]
    else:
        if data.dev is None or not data.targets:
            raise SettingsError("data: expected a dev corpus and targets beside the source")
        source, dev = read_corpus(data.source), read_corpus(data.dev)
        odd = sorted(data.target_train.keys() - data.targets.keys())
        if odd:
            raise SettingsError(
                f"data.target_train: expected languages of the targets "
                f"{', '.join(data.targets)}, found {odd[0]}"
            )
        targets = [_target(name, study) for name in data.targets]
    if any(study.fractions):
        missing = [target.name for target in targets if target.train is None]
        if missing:
            bundled = "--source, --dev, --target and " if data.source is None else ""
            raise SettingsError(
                f"data.target_train: expected labeled sentences of {', '.join(missing)} to take "
                f"fractions of; give {bundled}--train {missing[0]}=FILE"
            )
    return source, dev, targets


def _target(name: str, study: Study) -> Target:
    corpus = read_corpus(study.data.targets[name], language=name)
    file = study.data.target_train.get(name)
    train = None if file is None else read_corpus(file, language=name)
    if train is not None:
        known = corpus.entities_by_label
        odd = [label for label in train.entities_by_label if label not in known]
        if odd:
            raise DataError(
                f"{train.name}: expected the labels {', '.join(known)} of {corpus.name}, "
                f"found {', '.join(odd)} too; see metacross convert --drop"
            )
    return Target(name, corpus, train)


def _by_types(source: Corpus, targets: Sequence[Target]) -> dict[tuple[str, ...], list[Target]]:
    """Targets with the same labels together: each gets a model that knows no others."""
    known = tuple(source.entities_by_label)
    found: dict[tuple[str, ...], list[Target]] = {}
    for target in targets:
        own = target.corpus.entities_by_label
        odd = [label for label in own if label not in known]
        if odd or not own:
            raise DataError(
                f"{target.corpus.name}: expected entities of the source's labels "
                f"{', '.join(known)}, found {', '.join(odd) or 'none'}; see metacross convert"
            )
        found.setdefault(tuple(own), []).append(target)
    return found
