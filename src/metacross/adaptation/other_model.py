"""What models other than an encoder with a linear layer have in common."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, cast

from metacross.adaptation.ner_model import NerModel
from metacross.model.model_folder import ModelParts, install_model
from metacross.model.model_mark import mark_text
from metacross.model.training_facts import TrainingFacts
from metacross.settings import Settings

if TYPE_CHECKING:
    from metacross.model.tagger import Tagger


class OtherModel(NerModel):
    """A model that is not an encoder with a linear layer."""

    def __init__(
        self,
        tagger: object,
        settings: Settings,
        *,
        facts: TrainingFacts | None = None,
        location: str | None = None,
    ) -> None:
        # The methods that use an encoder are replaced here or refuse, so no Tagger is needed.
        parts = ModelParts(cast("Tagger", tagger), settings, None, adapts=False, facts=facts)
        super().__init__(parts, location=location)

    @property
    def kind(self) -> str:
        """The name of the kind in a model folder."""
        raise NotImplementedError

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder that :func:`metacross.load` reads."""

        def write(unfinished: Path) -> None:
            recipe = self.settings.as_yaml()
            (unfinished / "recipe.yaml").write_text(recipe, encoding="utf-8")
            self._write(unfinished)

        install_model(Path(folder), write, mark_text(self.parts.description, self.kind))

    @abstractmethod
    def _write(self, folder: Path) -> None:
        """Write the files of its kind."""
