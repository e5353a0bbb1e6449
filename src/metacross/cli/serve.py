"""``metacross serve``: answer requests over HTTP, with a page to try the model."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metacross.cli import output
from metacross.cli.model_options import AdaptationOption, DeviceOption, Engine, EngineOption
from metacross.cli.options import LanguageOption
from metacross.errors import SettingsError

if TYPE_CHECKING:
    from metacross.serving.options import ServerOptions


def serve_command(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help="A model folder, or hub:OWNER/NAME@COMMIT. "
            "Default: a model of the bundled corpus, trained on first use.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token that requests must send.")
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Serve other machines without a token.")
    ] = False,
    language: LanguageOption = None,
    adapt: Annotated[
        bool | None,
        typer.Option(
            "--adapt/--no-adapt",
            help="Adapt if a request does not say. Default: if the model was meta-trained.",
        ),
    ] = None,
    hide_source: Annotated[
        bool, typer.Option("--hide-source", help="Never show the text of source sentences.")
    ] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option(help="Origin of a page that may use the server. Repeatable."),
    ] = None,
    learn: Annotated[
        bool,
        typer.Option(
            "--learn",
            help="Let requests and Label Studio's webhook teach the model; needs --token-file.",
        ),
    ] = False,
    max_bytes: Annotated[int, typer.Option(help="Bytes of a request.")] = 1_048_576,
    max_texts: Annotated[int, typer.Option(help="Texts of a request.")] = 256,
    max_characters: Annotated[int, typer.Option(help="Characters of a request.")] = 100_000,
    queue_pieces: Annotated[int, typer.Option(help="Word pieces that may wait.")] = 65_536,
    seconds: Annotated[float, typer.Option(help="Time to answer a request.")] = 30.0,
    label_studio_seconds: Annotated[
        float,
        typer.Option(
            min=1, max=95, help="Time to adapt to tasks of Label Studio; the rest is labeled plain."
        ),
    ] = 80.0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: DeviceOption = "auto",
    engine: EngineOption = Engine.FAST,
    set_: AdaptationOption = None,
) -> None:
    """Serve a model over HTTP: a JSON API, and a page to try it."""
    _check_installed()
    from metacross.serving.limits import Limits
    from metacross.serving.options import (
        ServerOptions,
        check_learning_is_guarded,
        check_reachable,
        is_loopback,
        read_token,
    )

    token = None if token_file is None else read_token(token_file)
    check_learning_is_guarded(learn=learn, has_token=token is not None)
    check_reachable(host, has_token=token is not None, no_token=no_token)
    options = ServerOptions(
        language=language,
        adapt=adapt,
        hide_source=hide_source,
        token=token,
        cors=tuple(cors or ()),
        any_host=token is not None or not is_loopback(host),
        learn=learn,
        label_studio_seconds=label_studio_seconds,
        limits=Limits(max_bytes, max_texts, max_characters, queue_pieces, seconds),
    )
    _serve(model, options, (host, port), (device, engine, set_), open_page=open_)


def _serve(
    model: str | None,
    options: ServerOptions,
    address: tuple[str, int],
    loading: tuple[str, Engine, list[str] | None],
    *,
    open_page: bool,
) -> None:
    from metacross.serving.run_server import serve
    from metacross.serving.served_model import ServedModel
    from metacross.settings import parse_overrides

    device, engine, overrides = loading
    location, name = (_demo_folder(), "demo") if model is None else (model, None)
    served = ServedModel.at(
        location,
        name=name,
        device=device,
        engine=engine.value,
        overrides=parse_overrides(overrides or ()),
    )

    def show_address(url: str) -> None:
        output.show_plain(f"Serving {served.name} on {url} (Ctrl-C stops)")
        if open_page:
            webbrowser.open(url)

    host, port = address
    counts = serve(served, options, host=host, port=port, on_listening=show_address)
    output.show_plain(
        f"Stopped. Finished {counts.finished:,} of {counts.accepted:,} accepted requests; "
        "the clients of the others left or ran out of time."
        if counts.finished < counts.accepted
        else f"Stopped. Finished all {counts.accepted:,} accepted requests."
    )


def _check_installed() -> None:
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        if find_spec(package) is None:
            raise SettingsError(f"{package} is not installed: pip install 'metacross[server]'")


def _demo_folder() -> Path:
    """The demo model, trained if it is not there yet."""
    from metacross.cli.progress import TrainingBar
    from metacross.model.model_mark import is_model_folder
    from metacross.serving.demo_model import demo_model_folder, train_demo_model

    folder = demo_model_folder()
    if not is_model_folder(folder):
        output.show_note(
            "Training a small model on the bundled corpus: about a minute, once. "
            f"It is kept in {folder}."
        )
        train_demo_model(folder, [TrainingBar("tasks")])
    return folder
