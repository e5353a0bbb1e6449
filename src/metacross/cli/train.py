"""``metacross train``: train a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metacross.cli import output as console
from metacross.cli.resource_options import (
    AlignmentsOption,
    ClustersOption,
    GazetteerOption,
    LexiconOption,
    ParallelOption,
    PosOption,
    RawTextOption,
    SourcePosOption,
    SourceVectorsOption,
    VectorsOption,
)
from metacross.errors import SettingsError
from metacross.settings import Settings, load_settings, settings_with
from metacross.text.language_codes import checked_language
from metacross.text.source_corpora import parsed_sources

if TYPE_CHECKING:
    from metacross.training.callbacks import Callback

_BASELINE = "baseline:"


def train_command(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="[RECIPE]",
            help="Name of a recipe or YAML file; several with commas: mini,direct. "
            "baseline:NAME trains a system of metacross baselines.",
        ),
    ] = "paper",
    source: Annotated[
        list[str] | None,
        typer.Option(help="Labeled corpus to train on. Several languages: LANG=FILE, repeated."),
    ] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option(help="Corpus to choose the best weights by; LANG=FILE as for --source."),
    ] = None,
    encoder: Annotated[str | None, typer.Option(help="Encoder: folder or hub name.")] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the training and model.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: meta.steps=100. Repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Short for --set run.seed=N.")] = None,
    tensorboard: Annotated[bool, typer.Option(help="Write TensorBoard logs too.")] = False,
    target: Annotated[
        str | None,
        typer.Option(help="Target language of a baseline.", callback=checked_language),
    ] = None,
    raw_text: RawTextOption = None,
    lexicon: LexiconOption = None,
    parallel: ParallelOption = None,
    alignments: AlignmentsOption = None,
    vectors: VectorsOption = None,
    source_vectors: SourceVectorsOption = None,
    clusters: ClustersOption = None,
    gazetteer: GazetteerOption = None,
    pos: PosOption = None,
    source_pos: SourcePosOption = None,
    target_train: Annotated[
        str | None, typer.Option(help="A little labeled target text, for baselines that use it.")
    ] = None,
) -> None:
    """Train a model: meta-training, direct transfer with the recipe direct, or a baseline.

    After a stop, run the same command again to resume. Under torchrun its processes share the
    training; weights do not depend on their number.
    """
    baseline, recipes = _baseline(recipe)
    files = {
        "raw_text": raw_text,
        "lexicon": lexicon,
        "parallel": parallel,
        "alignments": alignments,
        "vectors": vectors,
        "source_vectors": source_vectors,
        "clusters": clusters,
        "gazetteer": gazetteer,
        "pos": pos,
        "source_pos": source_pos,
    }
    resources = {name: file for name, file in files.items() if file is not None}
    if baseline is None and (resources or target or target_train):
        raise SettingsError(
            "--target and resource files: expected a baseline to use them, as in "
            "metacross train baseline:mayhew"
        )
    if baseline is not None and target is None:
        raise SettingsError("--target: expected the code of a language, such as es")
    settings = settings_with(
        load_settings(recipes, set_ or ()),
        _overrides(
            {
                "data.source": parsed_sources("--source", source),
                "data.dev": parsed_sources("--dev", dev),
                "encoder.name": encoder,
            },
            seed,
        ),
    )
    if output is None:
        raise SettingsError("--output: expected a folder for the training and the model")
    for key in ("source", "dev"):
        if getattr(settings.data, key) is None:
            raise SettingsError(
                f"data.{key}: expected a labeled corpus; give --{key} FILE or set it in the recipe"
            )
    from metacross.baselines.train_baseline import train_baseline
    from metacross.training.train import train

    options: dict[str, Any] = {
        "dev": settings.data.dev or "",
        "recipe": settings,
        "output": output,
        "callbacks": _callbacks(settings, output, tensorboard=tensorboard),
    }
    source_file = settings.data.source or ""
    if baseline is not None and target is not None:
        options |= {"target": target, "resources": resources, "target_train": target_train}
        model = train_baseline(baseline, source_file, **options)
    else:
        model = train(source_file, **options)
    console.show_plain(f"Saved model to {output} (labels: {', '.join(model.labels)})")
    console.show_plain(f"Next: metacross evaluate {output} FILE")


def _baseline(recipe: str) -> tuple[str | None, list[str]]:
    """The baseline among the names of recipes, and the others.

    >>> _baseline("baseline:tsl,mini"), _baseline("baseline:tsl")
    (('tsl', ['mini']), ('tsl', ['paper']))
    """
    names = recipe.split(",")
    baselines = [name.removeprefix(_BASELINE) for name in names if name.startswith(_BASELINE)]
    recipes = [name for name in names if not name.startswith(_BASELINE)]
    if len(baselines) > 1:
        raise SettingsError(f"expected one baseline, found {', '.join(baselines)}")
    return (baselines[0] if baselines else None), recipes or ["paper"]


def _overrides(values: dict[str, Any], seed: int | None) -> dict[str, dict[str, Any]]:
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
