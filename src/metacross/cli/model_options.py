"""The options that several commands with a model share."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from metacross.cli import output
from metacross.settings import parse_overrides

if TYPE_CHECKING:
    from metacross.adaptation.ner_model import NerModel


class Engine(str, Enum):
    """How a model adapts; both give the same results."""

    FAST = "fast"
    TEXTBOOK = "textbook"


ModelArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model folder, or hub:OWNER/NAME@COMMIT.")
]
DeviceOption: TypeAlias = Annotated[str, typer.Option("--device", help="cuda, mps, cpu or auto.")]
EngineOption: TypeAlias = Annotated[
    Engine, typer.Option("--engine", help="How to adapt: same results, textbook is slower.")
]
AdaptationOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Override an adaptation setting: adaptation.learning_rate=3e-5. Repeatable."
    ),
]


def load_model(
    folder: str, *, device: str, engine: Engine = Engine.FAST, overrides: Iterable[str] | None
) -> NerModel:
    """Load a model with the values of ``--set``."""
    from metacross.adaptation.loading import load

    model = load(folder, device=device, engine=engine.value, **parse_overrides(overrides or ()))
    if model.location is not None and model.location != folder:
        output.show_note(f"Loaded {model.location}; write this to get the same model again.")
    return model


def model_name(folder: str) -> str:
    """What annotation tools call a model: the last part of its folder or hub name.

    >>> model_name("models/en"), model_name("hub:ana/names@abc")
    ('en', 'names')
    """
    return folder.rstrip("/").rpartition("/")[2].partition("@")[0] or "metacross"


def show_adaptation_notes(model: NerModel, engine: Engine) -> None:
    """Say if the textbook loop had to adapt, and how exact approximate search is."""
    if engine is Engine.FAST and model.fallback_reason is not None:
        output.show_note(f"Adapted by the textbook loop, because {model.fallback_reason}.")
    if model.search_recall is not None:
        recall = f"{100 * model.search_recall:.1f} %"
        output.show_note(
            f"Neighbors were searched with faiss, which finds {recall} of the nearest."
        )
