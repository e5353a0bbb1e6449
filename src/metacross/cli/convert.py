"""The command ``convert``: write a corpus in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metacross.cli import output
from metacross.cli.options import (
    CorpusReader,
    JsonOption,
    LanguageOption,
    show_unlabeled,
    with_read_options,
)
from metacross.errors import SettingsError
from metacross.text.annotation_formats.label_config import config_xml
from metacross.text.formats import WritableFormat, written_format
from metacross.text.sentence import Corpus
from metacross.text.tags import Scheme
from metacross.text.writing import write_atomically, write_corpus


@with_read_options
def convert_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="Corpus to read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    *,
    to: Annotated[
        WritableFormat | None, typer.Option("--to", help="Format of OUT. Default: by its suffix.")
    ] = None,
    label_config: Annotated[
        Path | None,
        typer.Option(help="Also write the labeling configuration of a Label Studio project."),
    ] = None,
    scheme: Annotated[Scheme, typer.Option(help="Tag scheme of the CoNLL file.")] = Scheme.IOB2,
    language: LanguageOption = None,
    reader: CorpusReader,
    as_json: JsonOption = False,
) -> None:
    """Write a corpus in another format or tag scheme.

    Annotations that were left out, and why, are printed to standard error. CoNLL cannot mix
    sentences with and without labels: --lossy leaves out those without.
    """
    if str(target) == "-":
        raise SettingsError("OUT: expected a file, found '-'")
    corpus = reader.read(source, language=language)
    format_ = to or written_format(target)
    if reader.options.lossy and format_ is WritableFormat.CONLL:
        corpus = _unmixed(corpus)
    write_corpus(corpus, target, scheme=scheme, format=format_.value)
    if label_config is not None:
        write_atomically(label_config, [config_xml([*corpus.entities_by_label])])
    n_repairs, n_omissions = corpus.notes.repairs, len(corpus.notes.omissions)
    if as_json:
        sizes = {"sentences": len(corpus), "words": corpus.n_words, "entities": corpus.n_entities}
        counts = {"repairs": n_repairs, "left_out": n_omissions}
        output.show_json({"file": str(target), **sizes, **counts})
        return
    repairs = f", {n_repairs:,} tags repaired" if n_repairs else ""
    left_out = f", {n_omissions:,} annotations left out" if n_omissions else ""
    output.show_plain(
        f"{target}: {len(corpus):,} sentences, {corpus.n_words:,} words, "
        f"{corpus.n_entities:,} entities{repairs}{left_out}"
    )


def _unmixed(corpus: Corpus) -> Corpus:
    """The labeled sentences of a corpus; all of them if there is none."""
    labeled = corpus.only_labeled()
    if not len(labeled):
        return corpus
    show_unlabeled(corpus, labeled)
    return labeled
