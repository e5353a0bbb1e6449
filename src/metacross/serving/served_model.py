"""A model to serve: which one it is, and how to load it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacross.adaptation.ner_model import NerModel, load
from metacross.adaptation.sentence_adapter import EngineName
from metacross.errors import ModelError
from metacross.model.encoder_digest import encoder_digest
from metacross.model.model_folder import is_model_folder

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
    def in_folder(
        cls,
        folder: Path,
        *,
        name: str | None = None,
        device: str = "auto",
        engine: EngineName = "fast",
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> ServedModel:
        """The model in a folder; ``name`` None: the folder's name."""
        if not is_model_folder(folder):
            raise ModelError(f"{folder}: expected a model folder, made by metacross train")
        return cls(
            name or folder.resolve().name,
            encoder_digest(str(folder))[:_SHOWN],
            lambda: load(folder, device=device, engine=engine, **(overrides or {})),
        )
