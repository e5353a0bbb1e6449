"""The commands around an encoder: distill one, test one.

What needs torch is imported inside the commands, so that the other ones start at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metacross.cli import output as console
from metacross.cli.options import JsonOption
from metacross.errors import MetacrossError, SettingsError
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence
from tools.mini_encoder.translation_pairs import read_pairs

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
    teacher: Annotated[Path, typer.Option(help="The teacher's wheel or ONNX file.")],
    output: Annotated[Path, typer.Option(help="Folder of the encoder and its training.")],
    steps: Annotated[int | None, typer.Option(help="The same as --set run.steps=N.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same as --set run.seed=N.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting: run.rate=1e-4.")
    ] = None,
) -> None:
    """Make a small encoder from scratch out of open text and a teacher.

    The same command goes on after a stop.
    """
    from metacross.cli.progress import TrainingBar
    from tools.mini_encoder.distilling import distill_encoder
    from tools.mini_encoder.recipe import distillation_settings

    given = {"run.steps": steps, "run.seed": seed}
    named = [f"{key}={value}" for key, value in given.items() if value is not None]
    settings = distillation_settings([*(set_ or ()), *named])
    distill_encoder(text, teacher, output, settings, callbacks=[TrainingBar("sentences")])
    console.show_plain(f"{output}: an encoder; use it with --encoder {output}")


@app.command("test")
def probe_command(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="Folder, hub name or mini.")],
    source: Annotated[str | None, typer.Option(help="Labeled corpus to train on.")] = None,
    dev: Annotated[
        list[str] | None, typer.Option(help="LANG=FILE: labeled corpus to score on. Repeatable.")
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(help="LANG=TSV: English sentences and translations. Repeatable."),
    ] = None,
    pairs_from: Annotated[
        str | None, typer.Option(help="Only pairs whose last column is this.")
    ] = None,
    sentences: Annotated[
        int, typer.Option(min=2, help="The first so many of each dev and pairs file.")
    ] = 1_000,
    random: Annotated[
        bool, typer.Option("--random", help="Random weights instead, as a control.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Judge an encoder: entities across languages, and translations found.

    The entity test trains a tagger on the source for two epochs and reads the dev corpora with it.
    """
    if (source is None) != (not dev) or not (dev or pairs):
        raise SettingsError("expected --source FILE with --dev LANG=FILE, or --pairs LANG=TSV")
    corpora = {
        language: _first(read_corpus(file, language=language), sentences)
        for language, file in _by_language("--dev", dev)
    }
    translated = {
        language: read_pairs(Path(file), language, origin=pairs_from, limit=sentences)
        for language, file in _by_language("--pairs", pairs)
    }
    results: dict[str, dict[str, float]] = {}
    if translated:
        from tools.mini_encoder.retrieval_probe import retrieval_probe

        shares = retrieval_probe(encoder, translated, seed=seed, random_weights=random)
        results["retrieval"] = shares
    if source is not None:
        train = read_corpus(source)
        results["entities"] = _entities(encoder, train, corpora, seed=seed, random_weights=random)
    if as_json:
        console.show_json({"encoder": encoder, "random": random, "seed": seed, **results})
    else:
        _show(results)


def _entities(
    encoder: str, train: Corpus, dev: Mapping[str, Corpus], *, seed: int, random_weights: bool
) -> dict[str, float]:
    from metacross.cli.progress import counting
    from tools.mini_encoder.entity_probe import EntityProbeSettings, entity_probe, n_steps

    settings = EntityProbeSettings(seed=seed)
    with counting("training a tagger", n_steps(len(train), settings)) as progress:
        return entity_probe(
            encoder, train, dev, settings, random_weights=random_weights, progress=progress
        )


def _by_language(option: str, given: Iterable[str] | None) -> list[tuple[str, str]]:
    found = []
    for pair in given or ():
        language, sign, file = pair.partition("=")
        if not language or not sign or not file:
            raise SettingsError(f"{option}: expected LANG=FILE, as in es=es.dev, found {pair!r}")
        found.append((language, file))
    return found


def _first(corpus: Corpus, n_sentences: int) -> Corpus:
    first: tuple[Sentence, ...] = corpus.sentences[:n_sentences]
    return replace(corpus, sentences=first)


def _show(results: Mapping[str, Mapping[str, float]]) -> None:
    titles = {"retrieval": "translations found", "entities": "F1 of entities"}
    table, columns = Table(), list(results.values())
    table.add_column("language")
    for test in results:
        table.add_column(f"{titles[test]} (%)", justify="right")
    for language in dict.fromkeys(language for own in columns for language in own):
        cells = (f"{100 * own[language]:.1f}" if language in own else "" for own in columns)
        table.add_row(language, *cells)
    console.show(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; an error of the user's ends in one line and exit code 1."""
    try:
        app(args=None if arguments is None else list(arguments))
    except MetacrossError as error:
        console.show_error(error)
        sys.exit(1)
