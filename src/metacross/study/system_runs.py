"""Plans a study: which systems are trained on which corpora, and which results they give."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metacross.baselines.baseline import Baseline
from metacross.baselines.catalog import find_baseline
from metacross.baselines.resources import ResourceFiles
from metacross.errors import SettingsError
from metacross.model.encoder_digest import encoder_digest
from metacross.settings import DataSettings, Settings
from metacross.study.plan import Study, fraction_name
from metacross.study.study_corpora import StudyCorpora, Target, read_study_corpora
from metacross.text.bundled_corpus import TARGETS
from metacross.text.language_codes import is_language
from metacross.text.resource_files import file_digest
from metacross.text.sentence import Corpus
from metacross.training.run_folder import (
    AFTER_TRAINING,
    corpus_digest,
    relevant_settings,
)

BASELINE_NAME = "baseline"
"""The digest with the name of a baseline."""
BASELINE_SETTINGS = "baseline settings"
"""The digest of the settings that a baseline reads."""
RESOURCE = "resource "
"""How the names of digests of resources begin."""
_TARGET_TRAIN = "target train corpus"
_CASING = ("casing", "match_casing")
_LATER_SETTINGS = {
    **{("data", key): None for key in _CASING},
    ("adaptation", "layers"): None,
    ("adaptation", "weights"): "all",
}
"""Settings with their defaults that did not exist when there were results already."""


@dataclass(frozen=True, slots=True)
class SystemRun:
    """A system with a seed, for the targets of the same model.

    Systems with the same training settings share a training run: ``trained_as`` names the first of
    them, ``training_settings`` are its settings. A baseline has one target, with its resources; one
    without randomness shares a training run among its seeds.
    """

    system: str
    seed: int
    settings: Settings
    trained_as: str
    training_settings: Settings
    corpora: StudyCorpora
    fractions: tuple[float, ...]
    baseline: Baseline | None = None
    resources: ResourceFiles = field(default_factory=ResourceFiles)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the model knows."""
        return self.corpora.labels

    @property
    def folder(self) -> str:
        """Name of the folder of its training run."""
        seed = self.training_settings.run.seed
        target = "" if self.baseline is None else f"_{self.corpora.targets[0].name}"
        return f"{self.trained_as}_{self.corpora.labels_name}{target}_seed-{seed}"

    @property
    def title(self) -> str:
        """What a progress display calls it."""
        target = "" if self.baseline is None else f" {self.corpora.targets[0].name},"
        return f"{self.system},{target} {len(self.labels)} labels, seed {self.seed}"

    def shares_training(
        self, corpora: StudyCorpora, settings: Settings, baseline: Baseline | None = None
    ) -> bool:
        """Whether a system with these corpora and settings has the same training run. Baselines may
        also learn from what a model predicts after its training.
        """
        unused = AFTER_TRAINING if baseline is None else ()
        groups = {*Settings.model_fields} - {*unused}
        before, after = (
            each.model_dump(include=groups) for each in (self.training_settings, settings)
        )
        casing_is_drawn = any(getattr(settings.data, key) is not None for key in _CASING)
        if baseline is not None and not baseline.is_random and not casing_is_drawn:
            after["run"]["seed"] = before["run"]["seed"]
        return self.corpora is corpora and self.baseline is baseline and before == after


@dataclass(frozen=True, slots=True)
class PlannedResult:
    """A system run that is to be scored on a target, with a fraction of its labeled sentences.

    ``digests`` identify the contents of the corpora and of the encoder.
    """

    system_run: SystemRun
    target: Target
    fraction: float
    digests: Mapping[str, str]

    @property
    def key(self) -> str:
        """Identifies the result by everything it depends on."""
        run = self.system_run
        return result_key(
            run.system, run.settings, run.labels, run.seed, self.digests, self.fraction
        )

    @property
    def fine_tuning_digest(self) -> str:
        """Identifies the labeled target text and the settings that its model is fine-tuned with."""
        settings = self.system_run.settings.fine_tuning.model_dump(mode="json")
        values = [settings, self.digests.get(_TARGET_TRAIN), self.fraction]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:8]

    @property
    def title(self) -> str:
        """What a progress display calls it."""
        run = self.system_run
        fraction = fraction_name(self.fraction)
        return f"{run.system}, seed {run.seed}, {self.target.name}, {fraction}"


def result_key(
    system: str,
    settings: Settings,
    labels: Sequence[str],
    seed: int,
    digests: Mapping[str, str],
    fraction: float,
) -> str:
    """A digest of everything that a result depends on. Zero-shot results do not depend on
    fine-tuning settings and target training corpora, other results not on adaptation settings.
    """
    recipe = relevant_settings(settings)
    for (group, key), default in _LATER_SETTINGS.items():
        if recipe[group][key] == default:  # changes no earlier result
            del recipe[group][key]
    if settings.prediction.decoding != "argmax":  # as it was for earlier results
        recipe["prediction"] = settings.prediction.model_dump(mode="json")
    zero_shot = fraction == 0
    del recipe["fine_tuning" if zero_shot else "adaptation"]
    used_digests = [
        item for item in sorted(digests.items()) if not zero_shot or item[0] != _TARGET_TRAIN
    ]
    values = [system, recipe, list(labels), used_digests, seed, float(fraction)]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def plan_system_runs(study: Study) -> list[SystemRun]:
    """All system runs of a study, seed by seed, so that the first results can be compared early."""
    groups = read_study_corpora(study, _data_settings(study))
    by_target = [
        [replace(corpora, targets=(target,)) for target in corpora.targets] for corpora in groups
    ]
    baselines = {system: _baseline(study, system) for system in study.systems}
    runs: list[SystemRun] = []
    for seed in study.seeds:
        for corpora, single_targets in zip(groups, by_target, strict=True):
            for system, baseline in baselines.items():
                settings = study.settings(system, seed)
                for part in [corpora] if baseline is None else single_targets:
                    runs.append(_system_run(study, system, settings, part, baseline, runs))
    return runs


def _system_run(
    study: Study,
    system: str,
    settings: Settings,
    corpora: StudyCorpora,
    baseline: Baseline | None,
    earlier: Sequence[SystemRun],
) -> SystemRun:
    same = (run for run in earlier if run.shares_training(corpora, settings, baseline))
    first = next(same, None)
    resources = ResourceFiles()
    if baseline is not None:
        resources = baseline.used(study.data.resources.get(corpora.targets[0].name, resources))
    return SystemRun(
        system=system,
        seed=settings.run.seed,
        settings=settings,
        trained_as=first.trained_as if first else system,
        training_settings=first.training_settings if first else settings,
        corpora=corpora,
        fractions=tuple(study.fractions),
        baseline=baseline,
        resources=resources,
    )


def _baseline(study: Study, system: str) -> Baseline | None:
    """The baseline that a system is, if the targets have the resources it needs."""
    name = study.baseline(system)
    if name is None:
        return None
    try:
        baseline = find_baseline(name)
    except SettingsError as problem:
        raise SettingsError(f"systems.{system}: {problem}") from None
    if baseline.needs_target_train and 0 in study.fractions:
        raise SettingsError(
            f"systems.{system}: expected fractions above 0, because baseline:{name} learns from "
            "labeled target sentences, found 0 (zero-shot)"
        )
    unknown = sorted(study.data.resources.keys() - study.data.targets.keys())
    if unknown and study.data.targets:
        raise SettingsError(
            f"data.resources: expected languages of the targets {', '.join(study.data.targets)}, "
            f"found {unknown[0]}"
        )
    for target in study.data.targets or TARGETS:
        if not is_language(target):
            raise SettingsError(
                f"systems.{system}: expected targets named by their language, such as es, because "
                f"baselines are made for a language, found {target}"
            )
        files = study.data.resources.get(target, ResourceFiles())
        names = baseline.missing(files, has_target_train=any(study.fractions))
        if names is not None:
            needed = " or ".join(names)
            raise SettingsError(
                f"systems.{system}: expected {needed.replace('_', ' ')} for {target}; "
                f"give --resource {target}.{names[0]}=FILE"
            )
    return baseline


def plan_results(system_runs: Sequence[SystemRun]) -> list[PlannedResult]:
    """All results of the system runs, in order."""
    digests: dict[int, str] = {}  # by id: many system runs have the same corpora

    def digest(corpus: Corpus) -> str:
        if id(corpus) not in digests:
            digests[id(corpus)] = corpus_digest(corpus)
        return digests[id(corpus)]

    encoders = {run.settings.encoder.name for run in system_runs}
    encoder_digests = {name: encoder_digest(name) for name in encoders}
    planned_results = []
    for run in system_runs:
        encoder = {"encoder": encoder_digests[run.settings.encoder.name]}
        encoder |= _baseline_digests(run)
        if run.settings.data.match_casing is not None:
            encoder["casing text"] = file_digest(run.settings.data.match_casing)
        for target in run.corpora.targets:
            corpora = {name: digest(corpus) for name, corpus in _corpora(run, target).items()}
            planned_results += [
                PlannedResult(run, target, fraction, corpora | encoder)
                for fraction in run.fractions
            ]
    return planned_results


def _baseline_digests(run: SystemRun) -> dict[str, str]:
    """The name of a baseline, and digests of its settings and resources; empty for others."""
    if run.baseline is None:
        return {}
    resources = run.resources.digests()
    return {
        BASELINE_NAME: run.baseline.name,
        BASELINE_SETTINGS: settings_digest(run.baseline, run.settings),
        **{f"{RESOURCE}{name}": digest for name, digest in resources.items()},
    }


def settings_digest(baseline: Baseline, settings: Settings) -> str:
    """A digest of the settings that a baseline reads."""
    groups = baseline.settings_read(settings)
    return hashlib.sha256(json.dumps(groups, sort_keys=True).encode()).hexdigest()


def _corpora(run: SystemRun, target: Target) -> dict[str, Corpus]:
    corpora = {
        "source corpus": run.corpora.source,
        "dev corpus": run.corpora.dev,
        "target corpus": target.corpus,
    }
    return corpora if target.train is None else corpora | {_TARGET_TRAIN: target.train}


def _data_settings(study: Study) -> DataSettings:
    """The data settings of all systems, which must be equal: other corpora give results that cannot
    be compared.
    """
    by_system: dict[str, Any] = {
        system: study.settings(system, study.seeds[0]).data.model_copy(
            update=dict.fromkeys(_CASING)  # these change no label
        )
        for system in study.systems
    }
    first, *others = by_system
    for system in others:
        if by_system[system] != by_system[first]:
            raise SettingsError(
                f"systems.{system}: expected the same data settings as {first}, found others; "
                "put data.drop, data.map and data.language into the study's set list"
            )
    data: DataSettings = by_system[first]
    return data
