"""A model to serve: which one it is, and how to load it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.sentence_adapter import EngineName
from metacross.model.encoder_digest import encoder_digest
from metacross.model.hub_models import FoundModel, find_model
from metacross.model.model_card import HUB
from metacross.model.model_digest import model_digest
from metacross.model.model_mark import saved_labels, tagger_kind

_SHOWN = 12  # digits of a digest


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model with its name, and a version that changes when its files do.

    ``load`` is called in the thread that will own the model.
    """

    name: str
    version: str
    load: Callable[[], NerModel]

    @property
    def identity(self) -> dict[str, str]:
        """How answers name the model."""
        return {"name": self.name, "version": self.version}

    @classmethod
    def at(
        cls,
        location: str | Path,
        *,
        name: str | None = None,
        device: str = "auto",
        engine: EngineName = "fast",
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> ServedModel:
        """The model in a folder or at ``hub:OWNER/NAME@COMMIT``; ``name`` None: that of the folder
        or of the repository.
        """
        found = find_model(location)
        saved_labels(found.folder)  # reports a folder without a model
        return cls(
            name or _name(found),
            _version(found.folder),
            lambda: load(found.folder, device=device, engine=engine, **(overrides or {})),
        )


def _version(folder: Path) -> str:
    """A string that changes with the weights of a model, and not with what it remembers."""
    has_encoder = tagger_kind(folder) is None
    digest = encoder_digest(str(folder)) if has_encoder else model_digest(folder)
    return digest[:_SHOWN]


def _name(found: FoundModel) -> str:
    if found.location.startswith(HUB):
        return found.location.removeprefix(HUB).partition("@")[0]
    return found.folder.resolve().name
