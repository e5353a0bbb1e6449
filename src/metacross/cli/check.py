"""The command ``check``: statistics and problems of corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from metacross.cli import output
from metacross.cli.findings_table import (
    effect_finding,
    findings_json,
    model_findings,
    show_findings,
    suspect_finding,
)
from metacross.cli.language_table import language_reports_json, show_language_reports
from metacross.cli.model_options import DeviceOption, load_model
from metacross.cli.options import CorpusReader, JsonOption, with_read_options
from metacross.errors import MetacrossError, SettingsError
from metacross.text.corpus_findings import Level, find_problems
from metacross.text.corpus_summary import CorpusOverlap, CorpusSummary, overlaps, summarize
from metacross.text.known_datasets import KnownDataset
from metacross.text.sentence import Corpus

if TYPE_CHECKING:
    from metacross.adaptation.ner_model import NerModel
    from metacross.serving.language_reports import LanguageReports


@with_read_options
def check_command(
    files: Annotated[list[str], typer.Argument(help="Corpora: files or hub:NAME@SPLIT.")],
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Also show how this model sees the texts, which gold labels it doubts, and which "
            "source sentences harm."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="results.jsonl of a study: languages with a known F1 to compare with."),
    ] = None,
    sentences: Annotated[
        int, typer.Option(min=1, help="With --model: sentences of each text to look at.")
    ] = 200,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if there are warnings.")
    ] = False,
    device: DeviceOption = "auto",
    reader: CorpusReader,
    as_json: JsonOption = False,
) -> None:
    """Show statistics and problems of corpora.

    For known data sets the published sizes are shown too. Of several corpora, shared sentences
    and different entity types are shown. Findings are errors, warnings or notes; with errors the
    command exits with 1.

    With --model it shows, by text, the script, word pieces, the similarity of the nearest source
    sentences, the words that adaptation changes and the confidence, beside languages with a known
    F1. It promises no F1. In labeled corpora it also finds doubtful labels, and source sentences
    that turn right entities wrong.
    """
    if results is not None and model is None:
        raise SettingsError("--results: expected --model MODEL too")
    corpora, errors = [], []
    for file in files:
        try:
            corpora.append(reader.read_silently(file))
        except MetacrossError as error:
            errors.append(error)
    summaries, corpus_overlaps = [summarize(corpus) for corpus in corpora], overlaps(corpora)
    findings = find_problems(corpora)
    reports = None
    if model is not None and corpora:
        ner_model = load_model(model, device=device, overrides=None)
        reports = _language_reports(ner_model, corpora, results, sentences)
        found = model_findings(ner_model, corpora, sentences)
        findings += map(suspect_finding, found.suspects)
        findings += map(effect_finding, found.effects)
    findings.sort(key=lambda finding: [*Level].index(finding.level))
    if as_json:
        languages = {"languages": language_reports_json(reports, str(model))} if reports else {}
        shown = {"findings": findings_json(findings), "errors": [str(error) for error in errors]}
        output.show_json(_check_json(summaries, corpus_overlaps) | shown | languages)
    else:
        for summary in summaries:
            _show_summary(summary)
        for overlap in corpus_overlaps:
            _show_overlap(overlap)
        if corpora:
            show_findings(findings)
        if reports is not None:
            show_language_reports(reports, str(model))
    for file_error in errors:
        output.show_error(file_error)
    levels = {finding.level for finding in findings}
    if errors or Level.ERROR in levels or (strict and Level.WARNING in levels):
        raise typer.Exit(1)


def _language_reports(
    model: NerModel, corpora: list[Corpus], results: Path | None, sentences: int
) -> LanguageReports:
    from metacross.cli.progress import counting
    from metacross.serving.language_reports import report_languages

    return report_languages(
        model,
        corpora,
        results=results,
        max_sentences=sentences,
        progress=counting,
    )


def _check_json(
    summaries: list[CorpusSummary], corpus_overlaps: list[CorpusOverlap]
) -> dict[str, Any]:
    return {
        "files": [_summary_json(summary) for summary in summaries],
        "overlaps": [
            {
                "files": [overlap.first.name, overlap.second.name],
                "shared_sentences": overlap.shared_sentences,
                "labels_only_in_first": list(overlap.only_in_first),
                "labels_only_in_second": list(overlap.only_in_second),
            }
            for overlap in corpus_overlaps
        ],
    }


def _summary_json(summary: CorpusSummary) -> dict[str, Any]:
    corpus = summary.corpus
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
        "longest_sentence": {"words": summary.longest, "place": summary.longest_place},
        "sentences_without_entities": summary.without_entities,
        "duplicates": summary.duplicates,
        "problems": list(summary.problems),
        "published": summary.published and _published_json(summary.published),
    }


def _published_json(published: KnownDataset) -> dict[str, Any]:
    return {
        "title": published.title,
        "language": published.language,
        "split": published.split,
        "sentences": published.sentences,
        "entities": published.entities,
        "counts_documents": published.counts_documents,
    }


def _show_summary(summary: CorpusSummary) -> None:
    corpus, notes = summary.corpus, summary.corpus.notes
    table = Table.grid(padding=(0, 2))
    documents = f" in {notes.documents:,} documents" if notes.documents else ""
    table.add_row("  sentences", f"{len(corpus):,}{documents}")
    table.add_row("  words", f"{corpus.n_words:,}")
    if corpus.labeled:
        by_label = "  ".join(f"{label} {n:,}" for label, n in corpus.entities_by_label.items())
        table.add_row("  entities", escape(f"{corpus.n_entities:,}   {by_label}"))
        table.add_row("  no entities", f"{summary.without_entities:,} sentences")
        repairs = f"{notes.repairs:,} tags repaired" if notes.repairs else "no tags repaired"
        table.add_row("  tag scheme", f"{notes.scheme or 'character spans'}, {repairs}")
    elif n_labeled := len(corpus.only_labeled()):
        table.add_row("  entities", f"{corpus.n_entities:,}, in the {n_labeled:,} annotated ones")
    else:
        table.add_row("  entities", "not annotated")
    table.add_row("  longest", escape(f"{summary.longest:,} words ({summary.longest_place})"))
    table.add_row("  duplicates", f"{summary.duplicates:,} sentences")
    if summary.published is not None:
        table.add_row("  published", _published_line(summary, summary.published))
    output.show(f"[bold]{escape(corpus.name)}[/bold]")
    output.show(table)
    among_findings = {str(item) for item in (*notes.repair_examples, *notes.omissions)}
    for problem in summary.problems:
        if problem not in among_findings:
            output.show_plain(f"  {problem}")


def _published_line(summary: CorpusSummary, published: KnownDataset) -> str:
    more_sentences = summary.comparable_sentences - published.sentences
    more_entities = summary.corpus.n_entities - published.entities
    line = (
        f"{published.sentences:,} sentences ({_difference(more_sentences)}), "
        f"{published.entities:,} entities ({_difference(more_entities)}): "
        f"{published.title} {published.language} {published.split}"
    )
    if published.counts_documents and not summary.corpus.notes.documents:
        line += "; its sentences include -DOCSTART- lines, and this file has none"
    return line


def _difference(number: int) -> str:
    return "equal" if number == 0 else f"here {number:+,}"


def _show_overlap(overlap: CorpusOverlap) -> None:
    findings = []
    if overlap.shared_sentences:
        findings.append(f"{overlap.shared_sentences:,} sentences of the second are in the first")
    if overlap.only_in_first:
        findings.append(f"only the first has {', '.join(overlap.only_in_first)}")
    if overlap.only_in_second:
        findings.append(f"only the second has {', '.join(overlap.only_in_second)}")
    if findings:
        names = f"{overlap.first.name} and {overlap.second.name}"
        output.show_plain(f"{names}: {'; '.join(findings)}")
