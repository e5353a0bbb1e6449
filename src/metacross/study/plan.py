"""Describes a study: its systems, seeds, fractions and corpora, read from a YAML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, field_validator

from metacross.baselines.resources import ResourceFiles
from metacross.errors import SettingsError, did_you_mean
from metacross.settings import (
    Settings,
    load_settings,
    recipe_names,
    settings_with,
    validated,
    yaml_mapping,
)
from metacross.settings_group import SettingsGroup

BASELINE = "baseline:"
_QUICK = (
    "direct.steps=120",
    "direct.batch_size=8",
    "meta.steps=120",
    "meta.tasks_per_step=8",
    "distillation.sentences=200",
    "distillation.epochs=1",
    "crf.iterations=20",
    "bilstm_crf.epochs=1",
    "two_languages.steps=120",
    "run.validate_every=30",
    "run.checkpoint_every=10",
)

Name = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]  # it becomes part of file names
Fraction = Annotated[float, Field(ge=0, le=1)]


class StudyData(SettingsGroup):
    """The files of the corpora; ``source`` null: the bundled corpus."""

    source: str | dict[str, str] | None = Field(
        None, description="labeled corpus to train on; several languages: {en: FILE, de: FILE}"
    )
    dev: str | dict[str, str] | None = Field(
        None, description="corpus to choose the best weights by, or one for each language"
    )
    targets: dict[Name, str] = Field({}, description="language: labeled corpus to score on")
    target_train: dict[Name, str] = Field({}, description="language: corpus to draw fractions from")
    resources: dict[Name, ResourceFiles] = Field(
        {}, description="language: resource files of baselines, such as lexicon and raw_text"
    )


class Study(SettingsGroup):
    """Systems that are trained with several seeds and scored on several targets.

    A system is a list of changes to the study's recipe: recipe names and ``group.key=value``,
    applied in order. With ``baseline:NAME`` in the list it is a system of ``metacross baselines``,
    trained for each target with its resources. A fraction of 0 means zero-shot; for other fractions
    the system is fine-tuned on that part of the target's labeled sentences.
    """

    title: str = Field(description="title of the report")
    systems: dict[Name, list[str]] = Field(
        min_length=1, description="name: recipes and settings that change the study's recipe"
    )
    recipe: str | list[str] | None = Field(
        None,
        description="one or more recipes; null: mini for the bundled encoder, else paper",
    )
    encoder: str | None = Field(None, description="null: the recipe's encoder")
    fractions: list[Fraction] = Field(
        [0.0], min_length=1, description="fractions of the labeled target sentences"
    )
    seeds: list[int] = Field([1, 2, 3], min_length=1, description="one training run for each")
    set: list[str] = Field([], description="recipes and settings that change all systems")
    one_model: bool = Field(
        False,
        description="one model for all targets: labels that a target does not have are left out of "
        "its predictions; false: a model for each set of labels",
    )
    curve_sentences: int = Field(
        500, ge=0, description="sentences of each target scored at every validation, for the report"
    )
    data: StudyData = StudyData()

    @field_validator("fractions", "seeds")
    @classmethod
    def _check_distinct(cls, values: list[float]) -> list[float]:
        if len(frozenset(values)) < len(values):
            raise ValueError("expected different values")
        return values

    def baseline(self, system: str) -> str | None:
        """The name of the baseline that a system is; None: it is not one."""
        names = [change for change in self.systems[system] if change.startswith(BASELINE)]
        if len(names) > 1:
            raise SettingsError(f"systems.{system}: expected one baseline, found {names}")
        return names[0].removeprefix(BASELINE) if names else None

    def settings(self, system: str, seed: int) -> Settings:
        """The recipe, then the encoder, ``set``, the changes of the system, and the seed."""
        recipe = self.recipe or ("mini" if self.encoder in ("mini", None) else "paper")
        settings = load_settings(recipe)
        if self.encoder is not None:
            settings = settings_with(settings, {"encoder": {"name": self.encoder}})
        settings = with_changes(settings, self.set, "set")
        changes = [change for change in self.systems[system] if not change.startswith(BASELINE)]
        settings = with_changes(settings, changes, f"systems.{system}")
        return settings_with(settings, {"run": {"seed": seed}})


def with_changes(settings: Settings, changes: Iterable[str], place: str) -> Settings:
    """Apply recipe names and ``group.key=value`` in order; ``place`` names the list in errors.

    >>> with_changes(load_settings("mini"), ["direct", "direct.steps=9"], "set").direct.steps
    9
    """
    for change in changes:
        try:
            if "=" in change:
                settings = settings_with(settings, [change])
            else:
                recipe = load_settings(change).model_dump(exclude_unset=True)
                settings = settings_with(settings, recipe)
        except SettingsError as problem:
            raise SettingsError(f"{place}: {_change_problem(change, problem)}") from None
    return settings


def _change_problem(change: str, problem: SettingsError) -> str:
    if "=" in change or change in recipe_names() or Path(change).suffix in (".yaml", ".yml"):
        return str(problem)
    return (
        f"expected group.key=value, a YAML file or a recipe of {', '.join(recipe_names())}, "
        f"found {change!r}"
    )


def study_names() -> list[str]:
    """The names of the built-in studies."""
    folder = resources.files("metacross") / "studies"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir())


def load_study(
    name: str | Path,
    changes: Mapping[str, object] = MappingProxyType({}),
    *,
    data: Mapping[str, object] = MappingProxyType({}),
    settings: Sequence[str] = (),
) -> Study:
    """Read a built-in study or a YAML file. ``changes`` and ``data`` replace values of the file;
    ``settings`` are added to the end of its ``set`` list.
    """
    name = str(name)
    values = yaml_mapping(_study_text(name), name)
    try:
        return changed_study(validated(Study, values), changes, data=data, settings=settings)
    except SettingsError as problem:
        raise SettingsError(f"{name}: {problem}") from None


def changed_study(
    study: Study,
    changes: Mapping[str, object],
    *,
    data: Mapping[str, object] = MappingProxyType({}),
    settings: Sequence[str] = (),
) -> Study:
    """The study with some values replaced, as in ``load_study``."""
    values = {**study.model_dump(), **changes}
    if data:
        values["data"] = {**study.data.model_dump(), **data}
    changed = validated(Study, values)
    return changed.model_copy(update={"set": [*changed.set, *settings]})


def quick_study(study: Study) -> Study:
    """The study with few steps and one seed, to try it out; its own settings win."""
    return study.model_copy(update={"seeds": study.seeds[:1], "set": [*_QUICK, *study.set]})


def fraction_name(fraction: float) -> str:
    """The name of a fraction of labeled target sentences in tables.

    >>> fraction_name(0.0), fraction_name(0.02)
    ('zero-shot', '2%')
    """
    return "zero-shot" if fraction == 0 else f"{100 * fraction:g}%"


def _study_text(name: str) -> str:
    if name in study_names():
        return (resources.files("metacross") / "studies" / f"{name}.yaml").read_text("utf-8")
    try:
        return Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        known = ["active", *study_names()]
        raise SettingsError(
            f"{name}: expected a YAML file or a study of {', '.join(known)}"
            f"{did_you_mean(name, known)}"
        ) from None
