"""Everything that can be chosen about a model and its training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml
from pydantic import BaseModel, Field, ValidationError

from metacross.baseline_settings import (
    AdversarySettings,
    BilstmCrfSettings,
    ConsistencySettings,
    CrfSettings,
    DistillationSettings,
    KnnSettings,
    ProjectionSettings,
    TranslationSettings,
    TwoLanguageSettings,
)
from metacross.errors import SettingsError, did_you_mean
from metacross.settings_group import Group, SettingsGroup


class EncoderSettings(SettingsGroup):
    """The pre-trained encoder under the tagger."""

    name: str = Field("bert-base-multilingual-cased", description="hub name or folder")
    frozen_layers: int | None = Field(
        3,
        ge=0,
        description="number of bottom layers that stay as pre-trained, with the embeddings; "
        "null: everything is trained",
    )
    layers: int | None = Field(
        None, ge=1, description="number of bottom layers that are read; null: all layers"
    )
    attention: Literal["bidirectional", "causal"] | None = Field(
        None,
        description="what a piece attends to: pieces on both sides or only those before it; "
        "null: both sides, also in decoder language models",
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout before the linear layer")
    max_length: int = Field(
        128, ge=4, description="longest window in pieces, including special ones"
    )
    overlap: int = Field(64, ge=0, description="pieces that a window shares with the one before")
    words: Literal["auto", "segmented", "given"] = Field(
        "auto",
        description="what it reads as a word in Chinese, Japanese and Thai text that is given in "
        "characters; segmented: the words that a segmenter finds; given: every character; auto: "
        "segmented where the segmenter is installed",
    )


class MaskingSettings(SettingsGroup):
    """Masking of entities in training."""

    ratio: float = Field(
        0.2, ge=0, le=1, description="probability that a piece inside an entity is masked"
    )
    in_support: bool = Field(True, description="mask the support as well as the query")


class LossSettings(SettingsGroup):
    """The training loss (Eq. 13)."""

    max_weight: float = Field(
        2.0, ge=0, description="lambda: weight of the largest loss among a sentence's words"
    )


class RetrievalSettings(SettingsGroup):
    """Which source sentences a sentence learns from."""

    neighbors: int = Field(2, ge=1, description="K: size of a support set")
    pooling: Literal["cls", "mean", "last"] | None = Field(
        None,
        description="how pieces become a vector: the first piece, the mean or the last piece; "
        "null: cls for encoders with a start piece, mean for others, last for causal ones",
    )
    encoder: str | None = Field(
        None,
        description="another encoder for the sentence vectors; null: the tagger's, as pre-trained",
    )
    search: Literal["auto", "exact", "faiss"] = Field(
        "auto",
        description="neighbor search; auto: exact up to retrieval.faiss_above source sentences, "
        "faiss above if it is installed",
    )
    faiss_above: int = Field(
        1_000_000, ge=0, description="source sentences above which retrieval.search=auto is faiss"
    )
    split_languages: bool = Field(
        False,
        description="a foreign sentence learns from the K nearest of every source language instead "
        "of the K nearest of all",
    )
    skip_nearest: int = Field(
        0, ge=0, description="number of nearest neighbors that a foreign sentence skips"
    )


InnerOptimizer: TypeAlias = Literal["adam", "normalized", "sgd"]
"""The optimizer of the few steps on a support set."""
_INNER_OPTIMIZERS = (
    "adam; normalized: each weight's gradient divided by its root mean square; sgd: the gradient"
)


class OptimizerSettings(SettingsGroup):
    """Adam, in the inner and outer loop, in adaptation and in fine-tuning.

    ``epsilon``, ``weight_decay`` and ``clip_norm`` hold for the other inner optimizers too.
    """

    bias_correction: bool = Field(True, description="as in the Adam paper")
    epsilon: float = Field(1e-8, gt=0, description="added to the denominator")
    weight_decay: float = Field(
        0.0, ge=0, description="decoupled weight decay; never on biases and LayerNorm"
    )
    clip_norm: float | None = Field(
        None, gt=0, description="maximum gradient norm of each weight; null: no clipping"
    )


class ScheduleSettings(SettingsGroup):
    """How the learning rates change during training."""

    decay: Literal["constant", "linear"] = Field("constant", description="after the warm-up")
    warmup_ratio: float = Field(
        0.0, ge=0, lt=1, description="fraction of the steps with a rising learning rate"
    )
    inner: bool = Field(True, description="the schedule applies to the inner learning rate too")


class MetaSettings(SettingsGroup):
    """Meta-training (Algorithm 1)."""

    steps: int = Field(3_000, ge=1, description="number of meta-updates")
    tasks_per_step: int = Field(32, ge=1, description="tasks whose gradients are summed")
    inner_steps: int = Field(2, ge=1, description="n: updates on the support")
    inner_optimizer: InnerOptimizer = Field(
        "adam", description=f"optimizer of these updates: {_INNER_OPTIMIZERS}"
    )
    inner_learning_rate: float = Field(3e-5, gt=0, description="alpha")
    outer_learning_rate: float = Field(3e-5, gt=0, description="beta")


class DirectSettings(SettingsGroup):
    """Direct transfer: ordinary training on the source language."""

    steps: int = Field(3_000, ge=1, description="number of mini-batches")
    batch_size: int = Field(32, ge=1, description="sentences in a mini-batch")
    learning_rate: float = Field(3e-5, gt=0, description="learning rate")


class AdaptationSettings(SettingsGroup):
    """What happens before a foreign sentence is labeled."""

    steps: int = Field(1, ge=1, description="updates on the neighbors")
    optimizer: InnerOptimizer = Field(
        "adam", description=f"optimizer of these updates: {_INNER_OPTIMIZERS}"
    )
    learning_rate: float = Field(1e-5, gt=0, description="gamma")
    max_weight: float = Field(
        0.0, ge=0, description="weight of the largest loss among a sentence's words"
    )
    layers: int | None = Field(
        None,
        ge=0,
        description="layers that adapt, the topmost ones, with the classifier; 0: only the "
        "classifier; null: all that are trained",
    )
    weights: Literal["all", "vectors"] = Field(
        "all", description="what adapts in these layers; vectors: only biases and norms"
    )
    dropout: bool = Field(False, description="use dropout while adapting")


class PredictionSettings(SettingsGroup):
    """How entities are read off the probabilities of tags."""

    decoding: Literal["viterbi", "argmax"] = Field(
        "viterbi",
        description="viterbi: the most probable tags of a sentence in which I-X only continues an "
        "entity of X; argmax: the most probable tag of each word",
    )


class FineTuningSettings(SettingsGroup):
    """Training on a little labeled text of the target language."""

    epochs: int = Field(10, ge=1, description="passes over the text")
    batch_size: int = Field(32, ge=1, description="sentences in a mini-batch")
    learning_rate: float = Field(1e-5, gt=0, description="learning rate")


class DataSettings(SettingsGroup):
    """The labeled source language."""

    source: str | dict[str, str] | None = Field(
        None, description="corpus to train on; several source languages: {en: FILE, de: FILE}"
    )
    dev: str | dict[str, str] | None = Field(
        None, description="corpus to choose the best weights by; several: {en: FILE, de: FILE}"
    )
    language: str | None = Field(None, description="language code of a single source")
    drop: tuple[str, ...] = Field((), description="entity types to relabel as O")
    map: dict[str, str] = Field({}, description="entity types to rename")
    casing: Literal["nouns"] | None = Field(
        None,
        description="the target's spelling; nouns: half of the source sentences get capitals on "
        "half of their longer common words, for targets such as German; null: as it is",
    )
    match_casing: str | None = Field(
        None,
        description="raw text of the target language: source words outside entities get capitals "
        "until they are as frequent as in this text",
    )


class RunSettings(SettingsGroup):
    """How a training runs."""

    method: Literal["meta", "direct"] = Field("meta", description="how to train")
    seed: int = Field(0, ge=0, description="seed of everything random")
    device: str = Field(
        "auto", description="cuda, mps, cpu, or auto: the first of them that is available"
    )
    threads: int | None = Field(
        None,
        ge=1,
        description="threads of torch on the CPU; null: OMP_NUM_THREADS, or as many as there are "
        "cores for this process",
    )
    precision: Literal["float32", "bfloat16"] = Field("float32", description="of the forward pass")
    validate_every: int = Field(300, ge=1, description="steps between validations")
    checkpoint_every: int = Field(100, ge=1, description="steps between checkpoints")
    batch_pieces: int = Field(4_096, ge=128, description="pieces in a batch of plain prediction")
    gradient_cache_mb: int = Field(
        200, ge=0, description="memory for recorded gradients of source sentences, in MB"
    )
    gradient_folder: str | None = Field(
        None,
        description="folder that keeps recorded gradients for later runs; the last bits of scores "
        "then depend on what was recorded together; null: they are kept in memory only",
    )
    gradient_folder_mb: int = Field(
        20_000, ge=0, description="size of that folder, in MB; the oldest files are removed"
    )
    frozen_cache_mb: int = Field(
        500, ge=0, description="memory for outputs of frozen layers in training, in MB; 0: none"
    )
    mmap_above: int = Field(
        50_000,
        ge=0,
        description="source sentences above which corpus and vectors are memory-mapped files "
        "instead of in memory",
    )
    blocks: Literal[1, 2, 4, 8] | None = Field(
        None,
        description="parts into which the tasks or sentences of a step are cut, so that as many "
        "processes of torchrun can share them; the weights depend on it, but not on the number of "
        "processes; null: 8 under torchrun, 1 otherwise",
    )


class Settings(SettingsGroup):
    """All settings of a model and its training."""

    encoder: EncoderSettings = EncoderSettings()
    masking: MaskingSettings = MaskingSettings()
    loss: LossSettings = LossSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    meta: MetaSettings = MetaSettings()
    direct: DirectSettings = DirectSettings()
    adaptation: AdaptationSettings = AdaptationSettings()
    prediction: PredictionSettings = PredictionSettings()
    fine_tuning: FineTuningSettings = FineTuningSettings()
    translation: TranslationSettings = TranslationSettings()
    projection: ProjectionSettings = ProjectionSettings()
    distillation: DistillationSettings = DistillationSettings()
    knn: KnnSettings = KnnSettings()
    adversary: AdversarySettings = AdversarySettings()
    consistency: ConsistencySettings = ConsistencySettings()
    crf: CrfSettings = CrfSettings()
    bilstm_crf: BilstmCrfSettings = BilstmCrfSettings()
    two_languages: TwoLanguageSettings = TwoLanguageSettings()
    data: DataSettings = DataSettings()
    run: RunSettings = RunSettings()


Recipe: TypeAlias = str | Path | Sequence[str | Path]
"""A recipe's name, a YAML file, or several of them, of which a later one overrides earlier ones."""
Overrides: TypeAlias = Mapping[str, Mapping[str, Any]] | Iterable[str]
"""Values by group and key, or ``group.key=value`` as on the command line."""


def recipe_names() -> list[str]:
    """The recipes that come with metacross."""
    folder = resources.files("metacross") / "recipes"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir())


def load_settings(recipe: Recipe = "paper", overrides: Overrides = ()) -> Settings:
    """Read one or more recipes, then apply overrides.

    A YAML file may name the recipes it changes: ``recipe: paper`` or ``recipe: [mini, direct]``.

    >>> load_settings(["mini", "direct"], {"direct": {"steps": 10}}).direct
    DirectSettings(steps=10, batch_size=8, learning_rate=0.001)
    """
    return validated(Settings, _merged(_recipe_values(recipe), _by_group(overrides), ""))


def settings_with(settings: Group, overrides: Overrides) -> Group:
    """The settings with some values replaced; ``settings`` itself is unchanged.

    >>> settings_with(Settings(), {"adaptation": {"learning_rate": 3e-5}}).adaptation.learning_rate
    3e-05
    """
    values = _merged(settings.model_dump(), _by_group(overrides), "")
    return validated(type(settings), values)


def _by_group(overrides: Overrides) -> Mapping[str, Mapping[str, Any]]:
    return overrides if isinstance(overrides, Mapping) else parse_overrides(overrides)


def parse_overrides(overrides: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The values of ``group.key=value``.

    >>> parse_overrides(["meta.steps=10", "data.drop=[MISC]"])
    {'meta': {'steps': 10}, 'data': {'drop': ['MISC']}}
    """
    values: dict[str, dict[str, Any]] = {}
    for override in overrides:
        path, sign, value = override.partition("=")
        group, dot, key = path.partition(".")
        if not sign or not dot or not key:
            raise SettingsError(f"--set: expected group.key=value, found {override!r}")
        values.setdefault(group, {})[key] = _parsed_yaml(value, f"--set {path}")
    return values


def validated(group: type[Group], values: Mapping[str, Any]) -> Group:
    """Check values as they are written in a YAML file."""
    try:
        return group.model_validate(values)
    except ValidationError as problems:
        raise SettingsError(_error_message(problems, group)) from None


def _recipe_values(recipe: Recipe) -> dict[str, Any]:
    if not isinstance(recipe, str | Path):
        values: dict[str, Any] = {}
        for name in recipe:
            values = _merged(values, _recipe_values(name), str(name))
        return values
    name = str(recipe)
    values = yaml_mapping(_recipe_text(name), name)
    base = values.pop("recipe", None)
    return values if base is None else _merged(_recipe_values(base), values, name)


def _recipe_text(name: str) -> str:
    if name in recipe_names():
        return (resources.files("metacross") / "recipes" / f"{name}.yaml").read_text("utf-8")
    path = Path(name)
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        raise SettingsError(
            f"{name}: expected a YAML file or a recipe of {', '.join(recipe_names())}"
            f"{did_you_mean(name, recipe_names())}"
        )
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise SettingsError(f"{name}: cannot be read: {reason}") from problem


def _merged(base: Mapping[str, Any], values: Mapping[str, Any], source: str) -> dict[str, Any]:
    """``base`` with the values of each group replaced; ``source`` names ``values`` in errors."""
    merged = dict(base)
    prefix = f"{source}: " if source else ""
    for group, group_values in values.items():
        if not isinstance(group_values, Mapping):
            raise SettingsError(
                f"{prefix}expected {group} to hold settings, found {group_values!r}"
            )
        merged[group] = {**merged.get(group, {}), **group_values}
    return merged


def yaml_mapping(text: str, source: str) -> dict[str, Any]:
    """The groups of a YAML text; ``source`` names it in errors."""
    values = _parsed_yaml(text, source)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"{source}: expected groups of settings, found {text[:40]!r}")
    return values


def _parsed_yaml(text: str, source: str) -> Any:  # noqa: ANN401 - YAML
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        reason = getattr(problem, "problem", None) or "it cannot be parsed"
        raise SettingsError(f"{source}{line}: expected YAML, but {reason}") from None


def _error_message(problems: ValidationError, group: type[SettingsGroup]) -> str:
    """The first problem in the user's spelling, with the most similar name that exists."""
    problem = problems.errors()[0]
    path = [str(part) for part in problem["loc"]]
    name = ".".join(path)
    if problem["type"] == "extra_forbidden":
        known = _known_names(path[:-1], group)
        suggestion = did_you_mean(path[-1], known)
        return f"unknown setting {name}{suggestion}; expected one of {', '.join(known)}"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    more = f" (and {problems.error_count() - 1} more)" if problems.error_count() > 1 else ""
    return f"{name}: {message}, found {problem['input']!r}{more}"


def _known_names(path: list[str], group: type[SettingsGroup]) -> list[str]:
    """The names inside a group."""
    model: type[BaseModel] = group
    for part in path:
        annotation = model.model_fields[part].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            break
        model = annotation
    return list(model.model_fields)
