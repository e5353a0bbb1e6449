"""Rewrites results of studies with the present field names, settings and keys.

python -m tools.migrate_results docs/results/*.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from metacross.baselines.catalog import find_baseline
from metacross.errors import DataError
from metacross.model.encoder import load_encoder, weights_digest
from metacross.model.encoder_digest import encoder_digest
from metacross.settings import Settings
from metacross.study.results import Result
from metacross.study.system_runs import (
    BASELINE_NAME,
    BASELINE_SETTINGS,
    result_key,
    settings_digest,
)
from metacross.text.writing import write_atomically

_NEW_FIELDS = {
    "setting": "fraction",
    "types": "labels",
    "headline": "reported_mode",
    "readings": "counts",
}
_NEW_GROUPS = {"optimiser": "optimizer"}
_NEW_KEYS: dict[tuple[str, str], str | None] = {  # None: the setting no longer exists
    ("encoder", "longest_window"): "max_length",
    ("retrieval", "neighbours"): "neighbors",
    ("retrieval", "skipped"): "skip_nearest",
    ("retrieval", "copies"): None,
    ("schedule", "warmup"): "warmup_ratio",
    ("meta", "inner_rate"): "inner_learning_rate",
    ("meta", "outer_rate"): "outer_learning_rate",
    ("direct", "batch"): "batch_size",
    ("direct", "rate"): "learning_rate",
    ("adaptation", "rate"): "learning_rate",
    ("fine_tuning", "batch"): "batch_size",
    ("fine_tuning", "rate"): "learning_rate",
    ("run", "record_megabytes"): "gradient_cache_mb",
}
_NEW_BASELINES = {
    "tsl-ours": "ours-tsl",
    "tsl-ours-translated": "ours-translated-tsl",
    "tsl-ours-crf": "ours-crf-tsl",
}
_OF_EARLIER_VERSIONS = {"prediction": {"decoding": "argmax"}, "encoder": {"words": "given"}}
"""How it was before there was a choice; lines of that time do not say it."""


def migrated_line(line: str) -> str:
    """A line of results with the present names; a line that has them already does not change."""
    values = {_NEW_FIELDS.get(name, name): value for name, value in json.loads(line).items()}
    values["recipe"] = migrated_recipe(values["recipe"])
    digests = values["digests"]
    if isinstance(values["fraction"], str):  # so its encoder has a digest of that time, too
        values["fraction"] = _fraction(values["fraction"])
        name = values["recipe"]["encoder"]["name"]
        digests["encoder"] = _new_encoder_digest(name, digests["encoder"])
    settings = _settings(values["recipe"])
    if BASELINE_NAME in digests:
        values["training"]["folder"] = _training_folder(values)
        old_name = digests[BASELINE_NAME]
        digests[BASELINE_NAME] = _NEW_BASELINES.get(old_name, old_name)
        baseline = find_baseline(digests[BASELINE_NAME])
        digests[BASELINE_SETTINGS] = settings_digest(baseline, settings)
    values["key"] = result_key(
        values["system"],
        settings,
        values["labels"],
        values["seed"],
        digests,
        values["fraction"],
    )
    return Result.model_validate(values).model_dump_json()


def migrated_recipe(recipe: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Settings with the present group names and keys."""
    migrated: dict[str, dict[str, Any]] = {}
    for group, values in recipe.items():
        new_values = migrated.setdefault(_NEW_GROUPS.get(group, group), {})
        for key, value in values.items():
            new_key = _NEW_KEYS.get((group, key), key)
            if new_key is not None:
                new_values[new_key] = value
    return migrated


def _settings(recipe: Mapping[str, Mapping[str, Any]]) -> Settings:
    """The settings of a recipe, which may be of an earlier version."""
    earlier = {
        group: {**values, **recipe.get(group, {})} for group, values in _OF_EARLIER_VERSIONS.items()
    }
    return Settings.model_validate({**recipe, **earlier})


def _training_folder(values: Mapping[str, Any]) -> str:
    """The folder of a baseline's training among those of its study; earlier lines do not say in
    which one that of a model with labeled target text is.
    """
    folder: str = values["training"]["folder"]
    if not folder.startswith(f"{values['target']}-"):
        return folder
    labels = "-".join(values["labels"])
    return f"{values['system']}_{labels}_{values['target']}_seed-{values['seed']}/{folder}"


def _fraction(name: str) -> float:
    """The fraction of a name such as ``zero-shot`` or ``2%``."""
    return 0.0 if name == "zero-shot" else float(name.removesuffix("%")) / 100


@cache
def _new_encoder_digest(name: str, old_digest: str) -> str:
    new_digest = encoder_digest(name)
    if old_digest not in (new_digest, weights_digest(load_encoder(name).network)):
        raise DataError(
            f"{name}: expected the encoder of the results, found one with other weights; "
            "its results cannot be migrated"
        )
    return new_digest


def main(arguments: Sequence[str] | None = None) -> None:
    """Rewrite files in place."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.migrate_results",
        description="Rewrite results of studies with the present names.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="results.jsonl")
    for path in parser.parse_args(arguments).files:
        lines = path.read_text(encoding="utf-8").splitlines()
        write_atomically(path, [migrated_line(line) + "\n" for line in lines])


if __name__ == "__main__":
    main()
