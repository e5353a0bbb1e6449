"""Reads the results of a model's recipe out of studies, for its model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacross.errors import DataError
from metacross.model.model_card import LanguageResult, MeanScore, ModelDescription
from metacross.settings import Settings, settings_with
from metacross.study.predictions import StoredPredictions, compare_modes
from metacross.study.results import Mode, Result, StudyFolder, results_in_file
from metacross.study.statistics import (
    MeanF1,
    ResultsBySeed,
    ResultsGrid,
    evaluated_modes,
    with_both_modes,
)
from metacross.study.system_runs import BASELINE_NAME
from metacross.training.run_folder import relevant_settings

_ANY_VALUE = ("data", "fine_tuning")  # digests identify the data; zero-shot does not fine-tune
_BEFORE_SETTINGS = {"encoder": {"words": "given"}, "prediction": {"decoding": "argmax"}}
"""How it was before there was a choice, for results of earlier versions, which do not say it."""


def results_of_model(model: ModelDescription, files: Sequence[Path]) -> list[LanguageResult]:
    """The zero-shot results of models with this recipe, source and dev corpus, with any seed.

    Significance needs the predictions, which are in the folder of the study.
    """
    _check_has_results(model)
    language_results: dict[str, LanguageResult] = {}
    for file in files:
        results = results_in_file(file)
        own = [result for result in results if next(_differences(model, result), None) is None]
        if not own:
            raise DataError(_no_results(model, file, results))
        grid, stored = ResultsGrid.of(own), StoredPredictions(StudyFolder(file.parent))
        (system,) = grid.systems[:1]
        for target in grid.targets_in(0.0):
            language_results[target] = _language_result(grid.at(0.0, system, target), stored)
    return list(language_results.values())


def _check_has_results(model: ModelDescription) -> None:
    facts = model.facts
    if facts is None or facts.source is None:
        raise DataError(
            "--results: expected a model that says what it was trained on, found one of an "
            "earlier version; train it again"
        )
    if facts.fine_tuned_on is not None:
        raise DataError(
            "--results: expected a model that was trained on a source corpus, found a fine-tuned "
            "one; its card has no results"
        )


def _differences(model: ModelDescription, result: Result) -> Iterator[str]:
    """What a result depends on and this model does not have; empty for the model's own results."""
    facts = model.facts
    if result.fraction != 0:
        yield "its fraction is above 0 (fine-tuned)"
    corpora = {"source corpus": facts.source, "dev corpus": facts.dev} if facts else {}
    for name, corpus in corpora.items():
        if corpus and result.digests.get(name) != corpus.digest:
            yield f"its {name} is another one"
    yield from _baseline_differences(model, result)
    yield from _recipe_differences(model, result.recipe)


def _baseline_differences(model: ModelDescription, result: Result) -> Iterator[str]:
    """A baseline is made for one target, by a recipe that other systems may have too."""
    name = result.digests.get(BASELINE_NAME)
    if name != (model.baseline.name if model.baseline else None):
        yield "it is not a baseline" if name is None else f"it is baseline:{name}"
    elif model.baseline is not None and result.target != model.baseline.target:
        yield f"its target is {result.target}, this model's is {model.baseline.target}"


def _recipe_differences(model: ModelDescription, recipe: Mapping[str, Any]) -> Iterator[str]:
    encoder = recipe.get("encoder", {}).get("name", Settings().encoder.name)
    is_folder = model.facts is not None and model.facts.encoder_origin == "folder"
    if model.facts and model.facts.encoder != (Path(encoder).name if is_folder else encoder):
        yield f"its encoder is {encoder}"
    before = settings_with(Settings(), _BEFORE_SETTINGS)
    defaults = relevant_settings(before)  # a result of an earlier version may lack a setting
    for group, values in relevant_settings(model.settings).items():
        for key, value in values.items() if group not in _ANY_VALUE else ():
            other = recipe.get(group, {}).get(key, defaults[group][key])
            if (group, key) != ("run", "seed") and other != value:
                yield f"its {group}.{key} is {other!r}, this model's is {value!r}"
    decoding = recipe.get("prediction", {}).get("decoding", before.prediction.decoding)
    if decoding != model.settings.prediction.decoding:
        now = model.settings.prediction.decoding
        yield f"its prediction.decoding is {decoding!r}, this model's is {now!r}"


def _no_results(model: ModelDescription, file: Path, results: Sequence[Result]) -> str:
    closest = min(results, key=lambda result: len(list(_differences(model, result))))
    difference = next(_differences(model, closest))
    return (
        f"{file}: expected results of this model's recipe and source corpus, found none among "
        f"{len(results):,}; of the closest, {closest.system} (seed {closest.seed}, "
        f"{closest.target}), {difference}"
    )


def _language_result(results: ResultsBySeed, stored: StoredPredictions) -> LanguageResult:
    first, *_ = results.values()
    both = with_both_modes(results)
    comparison = compare_modes(stored, both) if both else None
    return LanguageResult(
        target=first.target,
        digest=first.digests.get("target corpus", ""),
        seeds=tuple(results),
        plain=_mean_score(results, "plain"),
        adapted=_mean_score(results, "adapted") if "adapted" in evaluated_modes(first) else None,
        p_value=None if comparison is None else comparison.p_value,
    )


def _mean_score(results: ResultsBySeed, mode: Mode) -> MeanScore:
    points = MeanF1.of([result.score(mode).f1 for result in results.values()])
    deviation = None if points.deviation is None else points.deviation / 100
    return MeanScore(points.mean / 100, deviation)
