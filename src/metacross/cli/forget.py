"""``metacross forget``: take back sentences that a model remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metacross.cli import output
from metacross.cli.options import JsonOption
from metacross.errors import SettingsError


def forget_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids, as metacross remember MODEL lists them."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Forget all of them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let a model forget sentences that it remembers.

    Its weights are not affected: sentences that it was trained on stay in them.
    """
    from metacross.adaptation.remembering import saved_without
    from metacross.model.model_mark import describe_model
    from metacross.model.remembered import read_remembered

    if bool(ids) == every:
        raise SettingsError("forget: expected ids of remembered sentences, or --all")
    describe_model(model)  # an error if it is no model
    before = read_remembered(model)
    unknown = set(ids or ()) - {item.id for item in before}
    if unknown:
        raise SettingsError(
            f"forget: expected ids of remembered sentences, found {', '.join(sorted(unknown))}; "
            f"metacross remember {model} lists them"
        )
    after = saved_without(model, ids or [item.id for item in before])
    n_forgotten = len(before) - len(after)
    if as_json:
        output.show_json({"forgotten": n_forgotten, "remembered": len(after)})
        return
    output.show_plain(f"{model}: forgot {n_forgotten:,} sentences; it remembers {len(after):,} now")
