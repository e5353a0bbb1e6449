"""The ``metacross`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import metacross
from metacross.cli import model_commands, text_commands
from metacross.cli import output as console
from metacross.cli.compare import compare_command
from metacross.cli.demo import demo_command
from metacross.cli.experiment import experiment_command
from metacross.errors import MetacrossError

app = typer.Typer(
    name="metacross",
    help="Named-entity recognition for languages without labeled data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("demo")(demo_command)
app.command("check")(text_commands.check_command)
app.command("convert")(text_commands.convert_command)
app.command("score")(text_commands.score_command)
app.command("train")(model_commands.train_command)
app.command("evaluate")(model_commands.evaluate_command)
app.command("predict")(model_commands.predict_command)
app.command("neighbors")(model_commands.neighbors_command)
app.command("fine-tune")(model_commands.fine_tune_command)
app.command("experiment")(experiment_command)
app.command("compare")(compare_command)


def _show_version(wished: bool) -> None:
    if wished:
        console.show_plain(f"metacross {metacross.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Named-entity recognition for languages without labeled data."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; an error of the user's ends in one line and exit code 1."""
    try:
        app(args=None if arguments is None else list(arguments))
    except MetacrossError as error:
        console.show_error(error)
        sys.exit(1)
