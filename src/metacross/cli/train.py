"""``metacross train``: train a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metacross.cli import output as console
from metacross.errors import SettingsError
from metacross.settings import Settings, load_settings, settings_with

if TYPE_CHECKING:
    from metacross.training.callbacks import Callback


def train_command(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="[RECIPE]",
            help="Name of a recipe or YAML file; several with commas: mini,direct.",
        ),
    ] = "paper",
    source: Annotated[str | None, typer.Option(help="Labeled corpus to train on.")] = None,
    dev: Annotated[str | None, typer.Option(help="Corpus to choose the best weights by.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Encoder: folder or hub name.")] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the training and model.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: meta.steps=100. Repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Short for --set run.seed=N.")] = None,
    tensorboard: Annotated[bool, typer.Option(help="Write TensorBoard logs too.")] = False,
) -> None:
    """Train a model: meta-training, or direct transfer with the recipe direct.

    After a stop, run the same command again to resume.
    """
    settings = settings_with(
        load_settings(recipe.split(","), set_ or ()),
        _overrides({"data.source": source, "data.dev": dev, "encoder.name": encoder}, seed),
    )
    if output is None:
        raise SettingsError("--output: expected a folder for the training and the model")
    for key in ("source", "dev"):
        if getattr(settings.data, key) is None:
            raise SettingsError(
                f"data.{key}: expected a labeled corpus; give --{key} FILE or set it in the recipe"
            )
    from metacross.training.train import train

    model = train(
        settings.data.source or "",
        dev=settings.data.dev or "",
        recipe=settings,
        output=output,
        callbacks=_callbacks(settings, output, tensorboard=tensorboard),
    )
    console.show_plain(f"Saved model to {output} (labels: {', '.join(model.labels)})")
    console.show_plain(f"Next: metacross evaluate {output} FILE")


def _overrides(values: dict[str, str | None], seed: int | None) -> dict[str, dict[str, Any]]:
    """The options that are short for a setting, by group and key."""
    overrides: dict[str, dict[str, Any]] = {}
    for name, value in {**values, "run.seed": seed}.items():
        if value is not None:
            group, _, key = name.partition(".")
            overrides.setdefault(group, {})[key] = value
    return overrides


def _callbacks(settings: Settings, output: Path, *, tensorboard: bool) -> list[Callback]:
    from metacross.cli.progress import TrainingBar
    from metacross.training.callbacks import TensorBoardLog

    callbacks: list[Callback] = [
        TrainingBar("tasks" if settings.run.method == "meta" else "sentences")
    ]
    if tensorboard:
        callbacks.append(TensorBoardLog(output / "training" / "tensorboard"))
    return callbacks
