"""``metacross fine-tune``: train a model further on target text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metacross.cli import output as console
from metacross.cli.model_options import DeviceOption, ModelArgument, load_model
from metacross.cli.options import CorpusReader, LanguageOption, with_read_options
from metacross.errors import SettingsError


@with_read_options
def fine_tune_command(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="Labeled corpus of the target language.")],
    *,
    output: Annotated[Path | None, typer.Option(help="Folder of the new model.")] = None,
    fraction: Annotated[
        float | None, typer.Option(min=0, max=1, help="Fraction of the corpus, such as 0.01.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option(min=1, help="Number of sentences, instead of --fraction.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the subset and the training.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Override a setting: fine_tuning.learning_rate=5e-5. Repeatable."
        ),
    ] = None,
    language: LanguageOption = None,
    reader: CorpusReader,
    device: DeviceOption = "auto",
) -> None:
    """Train a model further on a little labeled text of the target language."""
    if output is None:
        raise SettingsError("--output: expected a folder for the new model")
    if (fraction is None) == (sentences is None):
        raise SettingsError("expected either --fraction or --sentences")
    corpus = reader.read_labeled(file, language=language)
    from metacross.cli.progress import TrainingBar

    n_sentences = sentences or max(1, round((fraction or 0) * len(corpus)))
    load_model(model, device=device, overrides=set_).fine_tune(
        corpus,
        n_sentences=n_sentences,
        seed=seed,
        output=output,
        callbacks=[TrainingBar("sentences")],
    )
    console.show_plain(
        f"Saved model to {output} (fine-tuned on {n_sentences:,} sentences; it does not adapt)"
    )
