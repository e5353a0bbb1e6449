"""Everything that can be chosen about a model and its training."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metacross.errors import SettingsError


class Section(BaseModel):
    """A group of settings: fixed once made, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def as_yaml(self) -> str:
        """The group as it can be read again."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


Whole = TypeVar("Whole", bound=Section)


class EncoderSettings(Section):
    """The pre-trained encoder under the tagger."""

    name: str = Field("bert-base-multilingual-cased", description="hub name, or folder")
    frozen_layers: int | None = Field(
        3, ge=0, description="bottom layers kept as pre-trained, with the embeddings; null: none"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="before the tagger's linear layer")
    longest_window: int = Field(128, ge=4, description="pieces read at once, two of them special")
    overlap: int = Field(64, ge=0, description="pieces a window shares with the one before")


class MaskingSettings(Section):
    """Masking of entities in training."""

    ratio: float = Field(0.2, ge=0, le=1, description="share of the pieces inside entities")
    in_support: bool = Field(True, description="mask the support as well as the query")


class LossSettings(Section):
    """The loss of training (Eq. 13)."""

    max_weight: float = Field(2.0, ge=0, description="lambda, the weight of the worst word")


class RetrievalSettings(Section):
    """Which source sentences a sentence learns from."""

    neighbours: int = Field(2, ge=1, description="K, the size of a support")
    pooling: Literal["cls", "mean"] = Field("cls", description="how pieces become a vector")
    encoder: str | None = Field(
        None, description="another encoder for the vectors; null: the tagger's, as pre-trained"
    )
    search: Literal["auto", "exact", "faiss"] = Field(
        "auto", description="how to look for neighbours; auto: faiss above a million sentences"
    )
    skipped: int = Field(0, ge=0, description="best neighbours a foreign sentence leaves out")
    copies: bool = Field(True, description="a sentence may learn from copies of itself in training")


class OptimiserSettings(Section):
    """Adam, in the inner and the outer loop, in adaptation and in fine-tuning."""

    bias_correction: bool = Field(True, description="as in the Adam paper")
    epsilon: float = Field(1e-8, gt=0, description="added to the denominator")
    weight_decay: float = Field(0.0, ge=0, description="decoupled; never on biases and LayerNorm")
    clip_norm: float | None = Field(
        None, gt=0, description="largest norm of the gradient of a weight; null: no limit"
    )


class ScheduleSettings(Section):
    """How the rates change over training."""

    decay: Literal["constant", "linear"] = Field("constant", description="after the warm-up")
    warmup: float = Field(0.0, ge=0, lt=1, description="share of the steps with a rising rate")
    inner: bool = Field(True, description="the inner rate changes as well as the outer one")


class MetaSettings(Section):
    """Meta-training (Algorithm 1)."""

    steps: int = Field(3_000, ge=1, description="meta-updates")
    tasks_per_step: int = Field(32, ge=1, description="tasks whose gradients are summed")
    inner_steps: int = Field(2, ge=1, description="n, updates on the support")
    inner_rate: float = Field(3e-5, gt=0, description="alpha")
    outer_rate: float = Field(3e-5, gt=0, description="beta")


class DirectSettings(Section):
    """Direct transfer: ordinary training on the source language."""

    steps: int = Field(3_000, ge=1, description="mini-batches")
    batch: int = Field(32, ge=1, description="sentences in a mini-batch")
    rate: float = Field(3e-5, gt=0, description="learning rate")


class AdaptationSettings(Section):
    """What happens before a foreign sentence is labelled."""

    steps: int = Field(1, ge=1, description="updates on the neighbours")
    rate: float = Field(1e-5, gt=0, description="gamma")
    max_weight: float = Field(0.0, ge=0, description="weight of the worst word")
    dropout: bool = Field(False, description="drop out while adapting")


class FineTuningSettings(Section):
    """Training on a little labelled text of the target language."""

    epochs: int = Field(10, ge=1, description="passes over the text")
    batch: int = Field(32, ge=1, description="sentences in a mini-batch")
    rate: float = Field(1e-5, gt=0, description="learning rate")


class DataSettings(Section):
    """The labelled source language."""

    source: str | None = Field(None, description="corpus to train on")
    dev: str | None = Field(None, description="corpus to choose the best weights by")
    language: str | None = Field(None, description="code of the language")
    drop: tuple[str, ...] = Field((), description="entity types made O")
    map: dict[str, str] = Field({}, description="entity types renamed")


class RunSettings(Section):
    """How a training runs."""

    method: Literal["meta", "direct"] = Field("meta", description="how to train")
    seed: int = Field(0, ge=0, description="of everything random")
    device: str = Field("auto", description="cuda, mps, cpu, or auto: the first there is")
    precision: Literal["float32", "bfloat16"] = Field("float32", description="of the forward pass")
    validate_every: int = Field(300, ge=1, description="steps between looks at the dev corpus")
    checkpoint_every: int = Field(100, ge=1, description="steps between checkpoints")
    batch_pieces: int = Field(4_096, ge=128, description="pieces in a batch of plain prediction")
    record_megabytes: int = Field(
        200, ge=0, description="memory for what source sentences contribute to adaptation"
    )


class Settings(Section):
    """A recipe, whole."""

    encoder: EncoderSettings = EncoderSettings()
    masking: MaskingSettings = MaskingSettings()
    loss: LossSettings = LossSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    optimiser: OptimiserSettings = OptimiserSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    meta: MetaSettings = MetaSettings()
    direct: DirectSettings = DirectSettings()
    adaptation: AdaptationSettings = AdaptationSettings()
    fine_tuning: FineTuningSettings = FineTuningSettings()
    data: DataSettings = DataSettings()
    run: RunSettings = RunSettings()


def recipe_names() -> list[str]:
    """The recipes that come with metacross."""
    folder = resources.files("metacross") / "recipes"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir())


def load_settings(recipe: str | Path = "paper", overrides: Iterable[str] = ()) -> Settings:
    """Read a recipe by name or from a YAML file, then apply ``section.key=value`` overrides.

    A file may begin with ``recipe: NAME``: it then says only what differs from that recipe.
    """
    return settings_from(with_overrides(_recipe_values(str(recipe)), overrides))


def with_overrides(values: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """The values of a recipe, changed by ``section.key=value``."""
    for override in overrides:
        path, sign, value = override.partition("=")
        section, dot, key = path.partition(".")
        if not sign or not dot or not key:
            raise SettingsError(f"--set: expected section.key=value, found {override!r}")
        values.setdefault(section, {})
        if not isinstance(values[section], dict):
            raise SettingsError(f"expected {section} to hold settings, found {values[section]!r}")
        values[section][key] = _parsed_yaml(value, f"--set {path}")
    return values


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Check values as they stand in a YAML file."""
    return checked(Settings, values)


def checked(whole: type[Whole], values: Mapping[str, Any]) -> Whole:
    """Check values as they stand in a YAML file, as settings of this kind."""
    try:
        return whole.model_validate(values)
    except ValidationError as problems:
        raise SettingsError(_told(problems, whole)) from None


def _recipe_values(recipe: str) -> dict[str, Any]:
    if recipe in recipe_names():
        text = (resources.files("metacross") / "recipes" / f"{recipe}.yaml").read_text("utf-8")
        return yaml_mapping(text, recipe)
    path = Path(recipe)
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        raise SettingsError(
            f"{recipe}: expected a YAML file or a recipe of {', '.join(recipe_names())}"
            f"{_nearest(recipe, recipe_names())}"
        )
    try:
        values = yaml_mapping(path.read_text("utf-8"), recipe)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise SettingsError(f"{recipe}: cannot be read: {reason}") from problem
    base = values.pop("recipe", None)
    return values if base is None else _merged(_recipe_values(str(base)), values, recipe)


def _merged(base: dict[str, Any], values: dict[str, Any], place: str) -> dict[str, Any]:
    for section, own in values.items():
        if not isinstance(own, dict):
            raise SettingsError(f"{place}: expected {section} to hold settings, found {own!r}")
        base[section] = {**base.get(section, {}), **own}
    return base


def yaml_mapping(text: str, place: str) -> dict[str, Any]:
    """The sections of a YAML text; ``place`` says where it stands."""
    values = _parsed_yaml(text, place)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"{place}: expected sections with settings, found {text[:40]!r}")
    return values


def _parsed_yaml(text: str, place: str) -> Any:  # noqa: ANN401 - YAML
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        reason = getattr(problem, "problem", None) or "it cannot be parsed"
        raise SettingsError(f"{place}{line}: expected YAML, but {reason}") from None


def _told(problems: ValidationError, whole: type[Section]) -> str:
    """The first problem in the user's spelling, with the nearest name that exists."""
    problem = problems.errors()[0]
    path = [str(part) for part in problem["loc"]]
    name = ".".join(path)
    if problem["type"] == "extra_forbidden":
        known = _known_names(path[:-1], whole)
        return f"{name} is no setting{_nearest(path[-1], known)}; there are {', '.join(known)}"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    more = f" (and {problems.error_count() - 1} more)" if problems.error_count() > 1 else ""
    return f"{name}: {message}, found {problem['input']!r}{more}"


def _known_names(path: list[str], whole: type[Section]) -> list[str]:
    """The names that a section, or the whole, has."""
    model: type[BaseModel] = whole
    for part in path:
        annotation = model.model_fields[part].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            break
        model = annotation
    return list(model.model_fields)


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
