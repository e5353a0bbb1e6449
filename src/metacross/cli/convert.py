"""The command ``convert``: write a corpus in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metacross.cli import output
from metacross.cli.options import CorpusReader, JsonOption, LanguageOption, with_read_options
from metacross.text.tags import Scheme
from metacross.text.writing import write_corpus


@with_read_options
def convert_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="Corpus to read.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write: JSON lines if .jsonl, else CoNLL.")
    ],
    *,
    scheme: Annotated[Scheme, typer.Option(help="Tag scheme of the CoNLL file.")] = Scheme.IOB2,
    language: LanguageOption = None,
    reader: CorpusReader,
    as_json: JsonOption = False,
) -> None:
    """Write a corpus in another format or tag scheme."""
    corpus = reader.read(source, language=language)
    write_corpus(corpus, target, scheme=scheme)
    n_repairs = corpus.notes.repairs
    if as_json:
        sizes = {"sentences": len(corpus), "words": corpus.n_words, "entities": corpus.n_entities}
        output.show_json({"file": str(target), **sizes, "repairs": n_repairs})
        return
    repairs = f", {n_repairs:,} tags repaired" if n_repairs else ""
    output.show_plain(
        f"{target}: {len(corpus):,} sentences, {corpus.n_words:,} words, "
        f"{corpus.n_entities:,} entities{repairs}"
    )
