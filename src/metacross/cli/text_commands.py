"""The commands that need no model: check, convert, score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from metacross.cli import output as console
from metacross.cli import score_output as score_views
from metacross.cli.options import (
    CommentsOption,
    DropOption,
    EncodingOption,
    FormatOption,
    JsonOption,
    LanguageOption,
    MapOption,
    TagColumnOption,
    TagNamesOption,
    WordColumnOption,
    new_labels,
    read_options,
    read_relabeled,
)
from metacross.errors import MetacrossError
from metacross.metrics.scoring import ScoreReport, counts_by_sentence, score
from metacross.metrics.significance import compare, f1_interval
from metacross.text.conll import Columns
from metacross.text.corpus_summary import CorpusSummary, Pair, pairs, summarize
from metacross.text.known_datasets import KnownDataset
from metacross.text.sentence import Corpus
from metacross.text.tags import Scheme
from metacross.text.writing import write_corpus


def check_command(
    files: Annotated[list[str], typer.Argument(help="Corpora: files or hub:NAME@SPLIT.")],
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    word_column: WordColumnOption = None,
    tag_column: TagColumnOption = None,
    comments: CommentsOption = None,
    tag_names: TagNamesOption = None,
    map_: MapOption = None,
    drop: DropOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what is in some files, and what in them needs a look.

    Sizes are shown beside the published ones where the data set is known.
    """
    columns = Columns(word_column, tag_column, comments)
    options, labels = read_options(format_, encoding, columns, tag_names), new_labels(map_, drop)
    corpora, errors = [], []
    for file in files:
        try:
            corpora.append(read_relabeled(file, options, labels))
        except MetacrossError as error:
            errors.append(error)
    inspections, compared = [summarize(corpus) for corpus in corpora], pairs(corpora)
    if as_json:
        console.show_json(_check_json(inspections, compared))
    else:
        for inspection in inspections:
            _show_inspection(inspection)
        for pair in compared:
            _show_pair(pair)
    for problem in errors:
        console.show_error(problem)
    if errors:
        raise typer.Exit(1)


def convert_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="Corpus to read.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write: JSON lines if .jsonl, else CoNLL.")
    ],
    scheme: Annotated[Scheme, typer.Option(help="Tag scheme of the CoNLL file.")] = Scheme.IOB2,
    language: LanguageOption = None,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    word_column: WordColumnOption = None,
    tag_column: TagColumnOption = None,
    comments: CommentsOption = None,
    tag_names: TagNamesOption = None,
    map_: MapOption = None,
    drop: DropOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a corpus in another format or tag scheme."""
    columns = Columns(word_column, tag_column, comments)
    options, labels = read_options(format_, encoding, columns, tag_names), new_labels(map_, drop)
    corpus = read_relabeled(source, options, labels, language)
    write_corpus(corpus, target, scheme=scheme)
    if as_json:
        written = {"sentences": len(corpus), "words": corpus.n_words, "entities": corpus.n_entities}
        console.show_json({"file": str(target), **written, "repairs": corpus.notes.repairs})
    else:
        repaired = f", {corpus.notes.repairs:,} tags repaired" if corpus.notes.repairs else ""
        console.show_plain(
            f"{target}: {len(corpus):,} sentences, {corpus.n_words:,} words, "
            f"{corpus.n_entities:,} entities{repaired}"
        )


def score_command(
    gold: Annotated[str, typer.Argument(help="The right entities.")],
    predicted: Annotated[str, typer.Argument(help="The entities of a system.")],
    against: Annotated[
        str | None, typer.Option("--against", help="The entities of another system, to compare.")
    ] = None,
    as_conlleval: Annotated[
        bool, typer.Option("--conlleval", help="Print the text of the conlleval script.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the shuffles.")] = 0,
    shuffles: Annotated[int, typer.Option(min=100, help="Number of shuffles.")] = 10_000,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    map_: MapOption = None,
    drop: DropOption = None,
    as_json: JsonOption = False,
) -> None:
    """Phrase-level precision, recall and F1, equal to conlleval's."""
    options, labels = read_options(format_, encoding, Columns(), None), new_labels(map_, drop)
    gold_corpus = read_relabeled(gold, options, labels)
    systems = {name: read_relabeled(name, options, labels) for name in (predicted, against) if name}
    reports = {name: score(gold_corpus, corpus) for name, corpus in systems.items()}
    if as_conlleval:
        for report in reports.values():
            console.show_plain(score_views.conlleval_text(report))
    elif as_json:
        console.show_json(_score_json(gold_corpus, systems, reports, seed, shuffles))
    else:
        _show_scores(gold_corpus, systems, reports, seed, shuffles)


def _score_json(
    gold: Corpus,
    systems: dict[str, Corpus],
    reports: dict[str, ScoreReport],
    seed: int,
    shuffles: int,
) -> dict[str, Any]:
    counts = {name: counts_by_sentence(gold, corpus) for name, corpus in systems.items()}
    result: dict[str, Any] = {
        "gold": gold.name,
        "systems": {
            name: score_views.report_json(report)
            | {"f1_interval": score_views.interval_json(f1_interval(counts[name], seed=seed))}
            for name, report in reports.items()
        },
    }
    if len(systems) == 2:
        comparison = compare(*counts.values(), shuffles=shuffles, seed=seed)
        result["comparison"] = score_views.comparison_json(comparison)
    return result


def _show_scores(
    gold: Corpus,
    systems: dict[str, Corpus],
    reports: dict[str, ScoreReport],
    seed: int,
    shuffles: int,
) -> None:
    counts = {name: counts_by_sentence(gold, corpus) for name, corpus in systems.items()}
    for name, report in reports.items():
        console.show(score_views.report_table(report, escape(name)))
        console.show_plain(score_views.interval_line(f1_interval(counts[name], seed=seed)))
    if len(systems) == 2:
        comparison = compare(*counts.values(), shuffles=shuffles, seed=seed)
        console.show_plain(score_views.comparison_line(comparison, *systems))


def _check_json(inspections: list[CorpusSummary], compared: list[Pair]) -> dict[str, Any]:
    return {
        "files": [_inspection_json(inspection) for inspection in inspections],
        "pairs": [
            {
                "files": [pair.first.name, pair.second.name],
                "shared_sentences": pair.shared_sentences,
                "types_only_in_first": list(pair.only_in_first),
                "types_only_in_second": list(pair.only_in_second),
            }
            for pair in compared
        ],
    }


def _inspection_json(inspection: CorpusSummary) -> dict[str, Any]:
    corpus, published = inspection.corpus, inspection.published
    return {
        "file": corpus.name,
        "sentences": len(corpus),
        "documents": corpus.notes.documents,
        "words": corpus.n_words,
        "labeled": corpus.labeled,
        "entities": corpus.n_entities,
        "entities_by_label": corpus.entities_by_label,
        "scheme": corpus.notes.scheme,
        "repairs": corpus.notes.repairs,
        "empty_sentences": corpus.notes.empty_sentences,
        "longest_sentence": {"words": inspection.longest, "place": inspection.longest_place},
        "sentences_without_entities": inspection.without_entities,
        "duplicates": inspection.duplicates,
        "problems": list(inspection.problems),
        "published": None
        if published is None
        else {
            "title": published.title,
            "language": published.language,
            "split": published.split,
            "sentences": published.sentences,
            "entities": published.entities,
            "counts_documents": published.counts_documents,
        },
    }


def _show_inspection(inspection: CorpusSummary) -> None:
    corpus, notes = inspection.corpus, inspection.corpus.notes
    table = Table.grid(padding=(0, 2))
    documents = f" in {notes.documents:,} documents" if notes.documents else ""
    table.add_row("  sentences", f"{len(corpus):,}{documents}")
    table.add_row("  words", f"{corpus.n_words:,}")
    if corpus.labeled:
        types = "  ".join(f"{label} {n:,}" for label, n in corpus.entities_by_label.items())
        table.add_row("  entities", escape(f"{corpus.n_entities:,}   {types}"))
        table.add_row("  without any", f"{inspection.without_entities:,} sentences")
        repaired = f"{notes.repairs:,} tags repaired" if notes.repairs else "nothing repaired"
        table.add_row("  tag scheme", f"{notes.scheme or 'character spans'}, {repaired}")
    else:
        table.add_row("  entities", "none marked")
    table.add_row("  longest", escape(f"{inspection.longest:,} words ({inspection.longest_place})"))
    table.add_row("  duplicates", f"{inspection.duplicates:,} sentences")
    if inspection.published is not None:
        table.add_row("  published", _published_line(inspection, inspection.published))
    console.show(f"[bold]{escape(corpus.name)}[/bold]")
    console.show(table)
    for problem in inspection.problems:
        console.show_plain(f"  {problem}")


def _published_line(inspection: CorpusSummary, published: KnownDataset) -> str:
    sentences = inspection.comparable_sentences - published.sentences
    entities = inspection.corpus.n_entities - published.entities
    line = (
        f"{published.sentences:,} sentences ({_difference(sentences)}), "
        f"{published.entities:,} entities ({_difference(entities)}): "
        f"{published.title} {published.language} {published.split}"
    )
    if published.counts_documents and not inspection.corpus.notes.documents:
        line += "; its sentences include -DOCSTART- lines, of which this file has none"
    return line


def _difference(number: int) -> str:
    return "equal" if number == 0 else f"here {number:+,}"


def _show_pair(pair: Pair) -> None:
    names = f"{pair.first.name} and {pair.second.name}"
    findings = []
    if pair.shared_sentences:
        findings.append(f"{pair.shared_sentences:,} sentences of the second stand in the first")
    if pair.only_in_first:
        findings.append(f"only the first has {', '.join(pair.only_in_first)}")
    if pair.only_in_second:
        findings.append(f"only the second has {', '.join(pair.only_in_second)}")
    if findings:
        console.show_plain(f"{names}: {'; '.join(findings)}")
