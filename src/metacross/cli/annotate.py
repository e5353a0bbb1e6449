"""``metacross annotate``: find the entities of any amount of text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from metacross.cli import output as console
from metacross.cli.model_options import (
    AdaptationOption,
    DeviceOption,
    Engine,
    EngineOption,
    ModelArgument,
)
from metacross.cli.options import EncodingOption, LanguageOption
from metacross.serving.bulk.ray_address import check_ray
from metacross.settings import parse_overrides
from metacross.text.formats import BulkFormat, BulkOutput

if TYPE_CHECKING:
    from metacross.serving.bulk.annotate import Annotated as AnnotatedFolder

_RAY = "--ray"


class AnnotateCommand(TyperCommand):
    """A command whose option ``--ray`` can stand alone or have an address."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer's own
        """Parse the arguments of the command line."""
        return super().parse_args(ctx, with_ray_address(args))


def with_ray_address(arguments: list[str]) -> list[str]:
    """Give ``--ray`` an empty address where no address follows.

    An address is ``HOST:PORT``, ``ray://HOST:PORT``, ``auto`` or ``local``.

    >>> with_ray_address(["--ray", "in.txt"]), with_ray_address(["--ray", "10.0.0.1:6379"])
    (['--ray=', 'in.txt'], ['--ray', '10.0.0.1:6379'])
    """
    following = [*arguments[1:], ""]
    return [
        f"{_RAY}=" if argument == _RAY and not _is_address(after) else argument
        for argument, after in zip(arguments, following, strict=True)
    ]


def _is_address(text: str) -> bool:
    return text in ("auto", "local") or (text.rpartition(":")[2].isdecimal() and ":" in text)


def annotate_command(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="IN", help="Files or folders: text, JSON lines, CoNLL or Parquet."),
    ],
    output: Annotated[Path, typer.Option(help="Folder for the parts, the manifest and receipts.")],
    to: Annotated[BulkOutput, typer.Option("--to", help="Format of the parts.")] = BulkOutput.JSONL,
    part: Annotated[
        int,
        typer.Option(min=1, help="Lines, JSON objects, CoNLL sentences or rows in a part."),
    ] = 2_000,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes. Default: one for every core, or for every GPU."),
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads in each process; they change the last digits.")
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            _RAY,
            metavar="[ADDRESS]",
            help="Label on a Ray cluster: HOST:PORT. Without ADDRESS: the cluster of this "
            "machine, or a new one on it.",
        ),
    ] = None,
    adapt: Annotated[
        bool | None,
        typer.Option(
            "--adapt/--no-adapt",
            help="Adapt to each sentence. Default: if the model was meta-trained.",
        ),
    ] = None,
    hide_source: Annotated[
        bool,
        typer.Option(
            "--hide-source", help="Write neighbors with position and similarity, without text."
        ),
    ] = False,
    language: LanguageOption = None,
    format_: Annotated[
        BulkFormat | None,
        typer.Option("--format", help="Format of the files. Default: detect it."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="Column of Parquet, or key of JSON lines, with a text or a list of words. "
            "Default: tokens, words or text."
        ),
    ] = None,
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
    engine: EngineOption = Engine.FAST,
    set_: AdaptationOption = None,
) -> None:
    """Find the entities of any amount of text, in parts that survive interruptions.

    Run the same command again to resume. The parts have the same bytes for any number of
    processes, with Ray and without.
    """
    if ray is not None:
        check_ray(ray)  # before torch is loaded
    from metacross.cli.progress import BulkBar
    from metacross.serving.bulk.annotate import AnnotateOptions, annotate
    from metacross.text.input_parts import InputOptions

    options = AnnotateOptions(
        part=part,
        to=to,
        adapt=adapt,
        hide_source=hide_source,
        device=device,
        engine=engine.value,
        overrides=parse_overrides(set_ or ()),
        workers=workers,
        threads=threads,
        ray=ray,
    )
    how_to_read = InputOptions(format_, encoding, column, language)
    with BulkBar() as bar:
        annotated = annotate(
            model, inputs, output, options=options, inputs=how_to_read, callback=bar
        )
    console.show_note(_summary(annotated, output))


def _summary(annotated: AnnotatedFolder, output: Path) -> str:
    before = f" ({annotated.resumed:,} before)" if annotated.resumed else ""
    sentences, parts = _counted(annotated.sentences, "sentence"), _counted(annotated.parts, "part")
    return f"Annotated {sentences}: {parts}{before} in {output}."


def _counted(number: int, what: str) -> str:
    """A number with its noun.

    >>> _counted(1, "part"), _counted(2000, "part")
    ('1 part', '2,000 parts')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")
