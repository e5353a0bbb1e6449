"""Loads a model of any kind from its folder or from the hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.sentence_adapter import EngineName
from metacross.adaptation.word_model import load_word_model
from metacross.errors import SettingsError
from metacross.model.hub_models import find_model
from metacross.model.model_folder import load_model
from metacross.model.model_mark import tagger_kind
from metacross.settings import Settings, settings_with

_CHANGEABLE = (
    "adaptation.*",
    "prediction.*",
    "fine_tuning.*",
    "retrieval.neighbors",
    "retrieval.skip_nearest",
    "retrieval.split_languages",
    "retrieval.search",
    "retrieval.faiss_above",
    "encoder.words",
    "run.gradient_cache_mb",
    "run.gradient_folder",
    "run.gradient_folder_mb",
    "run.mmap_above",
)


def load(
    folder: str | Path,
    *,
    device: str = "auto",
    engine: EngineName = "fast",
    **overrides: Mapping[str, Any],
) -> NerModel:
    """Load a model from its folder, or from the Hugging Face hub: ``hub:OWNER/NAME@COMMIT``.

    Without ``@COMMIT`` the newest version is loaded; :attr:`NerModel.location` says which it was.
    ``overrides`` change how it adapts or is fine-tuned, by groups of settings:
    ``load("models/en", adaptation={"learning_rate": 3e-5}, retrieval={"neighbors": 4})``; of a
    model that is made of several, in each of them. ``engine="textbook"`` adapts by the reference
    loop: same results, slower.
    """

    def change(saved: Settings) -> Settings:
        settings = settings_with(saved, overrides)
        _check_changeable(saved, settings)
        return settings

    def loaded(folder: Path, location: str | None = None) -> NerModel:
        if tagger_kind(folder) is not None:
            return load_word_model(folder, loaded, location=location, change=change)
        parts = load_model(folder, device=device, change=change)
        return NerModel(parts, engine=engine, location=location)

    found = find_model(folder)
    return loaded(found.folder, found.location)


def _check_changeable(before: Settings, after: Settings) -> None:
    """Refuse changes to settings that the model was trained with."""
    for group, values in before.model_dump().items():
        for key, value in values.items():
            changeable = f"{group}.*" in _CHANGEABLE or f"{group}.{key}" in _CHANGEABLE
            if not changeable and getattr(getattr(after, group), key) != value:
                raise SettingsError(
                    f"{group}.{key}: expected a setting that can change after training "
                    f"({', '.join(_CHANGEABLE)}); for others train a new model"
                )
