"""``metacross push``: push a model to the Hugging Face hub."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from metacross.cli import output

if TYPE_CHECKING:
    from metacross.serving.push import PushedModel


class Source(str, Enum):
    """What happens to the source sentences in a model folder."""

    KEEP = "keep"
    DROP = "drop"


def push_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder.")],
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="Where to push it.")],
    source: Annotated[
        Source | None,
        typer.Option(help="Publish the source corpus in the folder, or leave it out."),
    ] = None,
    source_license: Annotated[
        str | None, typer.Option(help="License of the source corpus; needed by --source keep.")
    ] = None,
    license_: Annotated[
        str | None, typer.Option("--license", help="License of the weights, such as apache-2.0.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Create a private repository.")
    ] = False,
    revision: Annotated[
        str | None, typer.Option(help="Branch to push to. Default: the main branch.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the files and push nothing.")
    ] = False,
) -> None:
    """Push a model to the Hugging Face hub.

    A model folder holds the source corpus, so say whether it may be published: --source keep with
    its license, or --source drop, which pushes a model that does not adapt.
    """
    from metacross.serving.push import push

    pushed = push(
        model,
        repository,
        source=None if source is None else source.value,
        source_license=source_license,
        license_id=license_,
        private=private,
        revision=revision,
        dry_run=dry_run,
    )
    adapts = "it adapts" if pushed.adapts else "it does not adapt"
    if dry_run:
        output.show(_file_table(pushed))
        output.show_plain(f"Nothing was pushed (--dry-run). The pushed model: {adapts}.")
        return
    output.show_plain(f"Pushed {len(pushed.files)} files ({adapts}).")
    output.show_plain(f"Load it with {pushed.location}")
    if source is Source.DROP:
        output.show_note(
            "If an earlier push kept the source corpus, it is still in the history of the "
            "repository."
        )


def _file_table(pushed: PushedModel) -> Table:
    table = Table(title=pushed.location, title_justify="left")
    table.add_column("file")
    table.add_column("bytes", justify="right")
    for name, size in pushed.files.items():
        table.add_row(name, f"{size:,}")
    return table
