"""``metacross card``: write the model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metacross.cli import output as console
from metacross.cli.model_options import ModelArgument


def card_command(
    model: ModelArgument,
    results: Annotated[
        list[Path] | None,
        typer.Option(help="results.jsonl of a study with this model's recipe. Repeatable."),
    ] = None,
    license_: Annotated[
        str | None, typer.Option("--license", help="License of the weights, such as apache-2.0.")
    ] = None,
    source_license: Annotated[
        str | None,
        typer.Option(help="License of the source sentences. With it the card shows examples."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="Name of a training data set on the hub. Repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File of the card. Default: README.md of the folder.")
    ] = None,
) -> None:
    """Write the model card: data, recipe, results by language, licenses, use and limits.

    Every training writes one. This command adds results of studies and licenses; your notes at the
    end of the card are kept.
    """
    from metacross.serving.card import write_card

    path = write_card(
        model,
        results=results or (),
        license_id=license_,
        source_license=source_license,
        datasets=dataset or (),
        output=output,
    )
    console.show_plain(f"Wrote {path}")
