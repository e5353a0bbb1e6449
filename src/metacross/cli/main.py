"""The ``metacross`` command: its table of commands and its errors."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import metacross
from metacross.cli import output
from metacross.cli.annotate import AnnotateCommand, annotate_command
from metacross.cli.baselines import baselines_command
from metacross.cli.card import card_command
from metacross.cli.check import check_command
from metacross.cli.compare import compare_command
from metacross.cli.convert import convert_command
from metacross.cli.demo import demo_command
from metacross.cli.evaluate import evaluate_command
from metacross.cli.experiment import experiment_command
from metacross.cli.fine_tune import fine_tune_command
from metacross.cli.forget import forget_command
from metacross.cli.neighbors import neighbors_command
from metacross.cli.predict import predict_command
from metacross.cli.project import project_command
from metacross.cli.push import push_command
from metacross.cli.remember import remember_command
from metacross.cli.score import score_command
from metacross.cli.select import select_command
from metacross.cli.serve import serve_command
from metacross.cli.torchrun import check_shared, one_voice, reports_errors
from metacross.cli.train import train_command
from metacross.cli.translate import translate_command
from metacross.errors import DataError, MetacrossError
from metacross.text.word_grouping import MissingSegmenterWarning

_OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="metacross",
    help="Named-entity recognition for languages without labeled data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("demo")(demo_command)
app.command("check")(check_command)
app.command("convert")(convert_command)
app.command("score")(score_command)
app.command("train")(train_command)
app.command("evaluate")(evaluate_command)
app.command("predict")(predict_command)
app.command("annotate", cls=AnnotateCommand)(annotate_command)
app.command("neighbors")(neighbors_command)
app.command("fine-tune")(fine_tune_command)
app.command("experiment")(experiment_command)
app.command("compare")(compare_command)
app.command("baselines")(baselines_command)
app.command("translate")(translate_command)
app.command("project")(project_command)
app.command("serve")(serve_command)
app.command("select")(select_command)
app.command("remember")(remember_command)
app.command("forget")(forget_command)
app.command("card")(card_command)
app.command("push")(push_command)


def _show_version(requested: bool) -> None:
    if requested:
        output.show_plain(f"metacross {metacross.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Named-entity recognition for languages without labeled data."""
    check_shared(context.invoked_subcommand)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the ``metacross`` command; ``arguments`` None: those of the process."""
    run_app(app, arguments)


def run_app(app: typer.Typer, arguments: Sequence[str] | None) -> None:
    """Run a command line; an error that the user can fix ends in one line and exit code 1."""
    try:
        with one_voice(), output.warnings_as_notes(MissingSegmenterWarning):
            try:
                app(args=None if arguments is None else list(arguments))
            finally:
                sys.stdout.flush()
    except MetacrossError as error:
        if reports_errors():
            output.show_error(error)
        sys.exit(1)
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        output.abandon()
        if error.errno != errno.EPIPE:
            output.show_error(DataError(f"the output cannot be written: {error.strerror}"))
        sys.exit(1)
