"""``metacross translate``: make labeled target text with a lexicon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metacross.cli import output
from metacross.cli.options import CorpusReader, JsonOption, with_read_options
from metacross.cli.resource_options import (
    AlignmentsOption,
    LexiconOption,
    ParallelOption,
    RawTextOption,
)
from metacross.errors import SettingsError
from metacross.settings import load_settings
from metacross.text.language_codes import checked_language
from metacross.text.writing import write_corpus


@with_read_options
def translate_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="Labeled corpus.")],
    target_file: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write: JSON lines if .jsonl, else CoNLL.")
    ],
    *,
    target: Annotated[
        str, typer.Option(help="Code of the target language.", callback=checked_language)
    ],
    lexicon: LexiconOption = None,
    raw_text: RawTextOption = None,
    parallel: ParallelOption = None,
    alignments: AlignmentsOption = None,
    language: Annotated[
        str | None,
        typer.Option(help="Code of the source language.", callback=checked_language),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Override a setting: translation.capitalize_above=0.7. Repeatable."
        ),
    ] = None,
    reader: CorpusReader,
    as_json: JsonOption = False,
) -> None:
    """Translate a labeled corpus word by word; entities follow their words.

    Raw text of the target chooses among translations and capitals; parallel text fills gaps of the
    lexicon.
    """
    from metacross.baselines.make_corpora import translated_corpus

    if lexicon is None:
        raise SettingsError("expected a lexicon; give --lexicon FILE")
    files = {
        "lexicon": lexicon,
        "raw_text": raw_text,
        "parallel": parallel,
        "alignments": alignments,
    }
    made = translated_corpus(
        reader.read(source, language=language),
        target=target,
        resources={name: file for name, file in files.items() if file is not None},
        settings=load_settings("paper", set_ or ()),
    )
    write_corpus(made.corpus, target_file)
    report = made.report
    if as_json:
        output.show_json(
            {
                "file": str(target_file),
                "sentences": len(made.corpus),
                "entities": made.corpus.n_entities,
                "coverage": report.coverage,
                "translated": report.translated,
            }
        )
        return
    output.show_plain(
        f"{target_file}: {len(made.corpus):,} sentences, {made.corpus.n_entities:,} entities; "
        f"{100 * report.translated:.1f} % of the words were translated, the others copied "
        f"(the lexicon has {100 * report.coverage:.1f} % of the words outside entities)"
    )
