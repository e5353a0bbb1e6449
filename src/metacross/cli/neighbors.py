"""``metacross neighbors``: show what a sentence would learn from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from metacross.cli import output
from metacross.cli.model_options import DeviceOption, ModelArgument, load_model
from metacross.cli.options import JsonOption, LanguageOption
from metacross.errors import DataError
from metacross.text.reading import unlabeled
from metacross.text.word_splitting import split_text


def neighbors_command(
    model: ModelArgument,
    text: Annotated[str, typer.Argument(help="A sentence.")],
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Number of neighbors. Default: the model's.")
    ] = None,
    language: LanguageOption = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Show the source sentences that a sentence would learn from."""
    layout = split_text(text, language)
    if not layout.offsets:
        raise DataError(f"TEXT: expected a sentence, found {text!r}")
    ner_model = load_model(model, device=device, overrides=None)
    (neighbors,) = ner_model.neighbors([unlabeled(layout, language)], k=k)
    if as_json:
        from metacross.adaptation.prediction_records import neighbors_json

        output.show_json(neighbors_json(neighbors))
        return
    for rank, neighbor in enumerate(neighbors, start=1):
        line = Text(f"{rank}. {neighbor.similarity:.3f}  ")
        output.show(line + output.marked_entities(neighbor.sentence))
