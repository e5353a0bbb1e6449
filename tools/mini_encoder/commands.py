"""The command line of ``python -m tools.mini_encoder``.

Modules that import torch are imported inside the commands, so that ``--help`` is fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metacross.cli import output
from metacross.cli.main import run_app
from metacross.cli.options import JsonOption
from metacross.errors import SettingsError
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus
from tools.mini_encoder.translation_pairs import read_translation_pairs

_COLUMN_TITLES = {"entities": "entity F1 (%)", "retrieval": "retrieval accuracy (%)"}

app = typer.Typer(
    name="mini_encoder",
    help="Make and test small encoders.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.command("distill")
def distill_command(
    text: Annotated[Path, typer.Option(help="Folder with text/ and parallel/.")],
    teacher: Annotated[Path, typer.Option(help="Wheel or ONNX file of the teacher.")],
    folder: Annotated[Path, typer.Option("--output", help="Folder to write the encoder to.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: run.steps=500. Repeatable."),
    ] = None,
) -> None:
    """Distill a teacher into a small encoder.

    After an interruption, run the same command again to resume.
    """
    from metacross.cli.progress import TrainingBar
    from tools.mini_encoder.distillation import distill_encoder
    from tools.mini_encoder.settings import distillation_settings

    settings = distillation_settings(overrides or ())
    distill_encoder(text, teacher, folder, settings, callbacks=[TrainingBar("sentences")])
    output.show_plain(f"Saved encoder to {folder}")


@app.command("test")
def probe_command(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="Folder, hub name or mini.")],
    source: Annotated[str | None, typer.Option(help="Labeled corpus to train a tagger on.")] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option(help="LANG=FILE: labeled corpus to score the tagger on. Repeatable."),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(help="LANG=TSV: English sentences and translations. Repeatable."),
    ] = None,
    pairs_source: Annotated[
        str | None, typer.Option(help="Use only pairs with this value in the last column.")
    ] = None,
    sentences: Annotated[
        int, typer.Option(min=2, help="Use only the first N sentences of each dev and pairs file.")
    ] = 1_000,
    random: Annotated[
        bool, typer.Option("--random", help="Replace the weights by random ones, as a control.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Test an encoder: entities in other languages, and retrieval of translations.

    The entity test trains a tagger on the source for two epochs and scores it without adaptation on
    the dev corpora.
    """
    if (source is None) != (not dev) or not (dev or pairs):
        raise SettingsError("expected --source FILE with --dev LANG=FILE, or --pairs LANG=TSV")
    corpora = {
        language: _first(read_corpus(file, language=language), sentences)
        for language, file in _by_language("--dev", dev)
    }
    translation_pairs = {
        language: read_translation_pairs(Path(file), language, source=pairs_source, limit=sentences)
        for language, file in _by_language("--pairs", pairs)
    }
    results: dict[str, dict[str, float]] = {}
    if translation_pairs:
        from tools.mini_encoder.retrieval_probe import retrieval_probe

        results["retrieval"] = retrieval_probe(
            encoder, translation_pairs, seed=seed, random_weights=random
        )
    if source is not None:
        from metacross.cli.progress import TrainingBar
        from tools.mini_encoder.entity_probe import entity_probe

        results["entities"] = entity_probe(
            encoder,
            read_corpus(source),
            corpora,
            seed=seed,
            random_weights=random,
            callbacks=[TrainingBar("sentences")],
        )
    if as_json:
        output.show_json({"encoder": encoder, "random": random, "seed": seed, **results})
    else:
        output.show(_results_table(results))


def _by_language(option: str, values: Iterable[str] | None) -> list[tuple[str, str]]:
    """The languages and files of a repeatable ``LANG=FILE`` option."""
    files = []
    for value in values or ():
        language, sign, file = value.partition("=")
        if not language or not sign or not file:
            raise SettingsError(f"{option}: expected LANG=FILE, as in es=es.dev, found {value!r}")
        files.append((language, file))
    return files


def _first(corpus: Corpus, n_sentences: int) -> Corpus:
    return replace(corpus, sentences=corpus.sentences[:n_sentences])


def _results_table(results: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table()
    table.add_column("language")
    for test in results:
        table.add_column(_COLUMN_TITLES[test], justify="right")
    columns = list(results.values())
    for language in dict.fromkeys(language for column in columns for language in column):
        cells = (
            f"{100 * column[language]:.1f}" if language in column else "" for column in columns
        )
        table.add_row(language, *cells)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``python -m tools.mini_encoder``; ``arguments`` None: those of the process."""
    run_app(app, arguments)
