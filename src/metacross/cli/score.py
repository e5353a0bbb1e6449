"""The command ``score``: precision, recall and F1 of predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.markup import escape

from metacross.cli import output
from metacross.cli.options import CorpusReader, JsonOption, with_read_options
from metacross.errors import SettingsError
from metacross.metrics.scoring import ScoreReport, counts_by_sentence, score
from metacross.metrics.significance import Comparison, Counts, Interval, compare, f1_interval
from metacross.text.sentence import Corpus


@dataclass(frozen=True, slots=True)
class _SystemScore:
    """The score of one file of predictions, its counts by sentence and the interval of its F1."""

    name: str
    report: ScoreReport
    counts: Counts
    interval: Interval


@with_read_options
def score_command(
    gold: Annotated[str, typer.Argument(help="Corpus with the correct entities.")],
    predicted: Annotated[str, typer.Argument(help="The same corpus with a system's entities.")],
    *,
    against: Annotated[
        str | None, typer.Option("--against", help="Predictions of another system to compare with.")
    ] = None,
    as_conlleval: Annotated[
        bool, typer.Option("--conlleval", help="Print in the format of the conlleval script.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the significance test.")] = 0,
    shuffles: Annotated[
        int, typer.Option(min=100, help="Shuffles of the significance test.")
    ] = 10_000,
    reader: CorpusReader,
    as_json: JsonOption = False,
) -> None:
    """Score predictions: entity-level precision, recall and F1, equal to conlleval's.

    With --against, test whether two systems differ significantly.
    """
    if against == predicted:
        raise SettingsError(f"--against: expected another file than PREDICTED, found {against!r}")
    if as_conlleval and as_json:
        raise SettingsError("expected --conlleval or --json, found both")
    gold_corpus = reader.read(gold)
    predictions = [reader.read(name) for name in (predicted, against) if name is not None]
    if as_conlleval:
        for corpus in predictions:
            output.show_plain(output.conlleval_text(score(gold_corpus, corpus)))
        return
    systems = [_scored(gold_corpus, corpus, seed) for corpus in predictions]
    comparison = None
    if len(systems) == 2:
        comparison = compare(*(s.counts for s in systems), shuffles=shuffles, seed=seed)
    if as_json:
        output.show_json(_scores_json(gold_corpus, systems, comparison))
    else:
        _show_scores(systems, comparison)


def _scored(gold: Corpus, predicted: Corpus, seed: int) -> _SystemScore:
    report, counts = score(gold, predicted), counts_by_sentence(gold, predicted)
    return _SystemScore(predicted.name, report, counts, f1_interval(counts, seed=seed))


def _scores_json(
    gold: Corpus, systems: list[_SystemScore], comparison: Comparison | None
) -> dict[str, Any]:
    scores: dict[str, Any] = {
        "gold": gold.name,
        "systems": {
            system.name: output.report_json(system.report)
            | {"f1_interval": output.interval_json(system.interval)}
            for system in systems
        },
    }
    if comparison is not None:
        scores["comparison"] = output.comparison_json(comparison)
    return scores


def _show_scores(systems: list[_SystemScore], comparison: Comparison | None) -> None:
    for system in systems:
        output.show(output.report_table(system.report, escape(system.name)))
        output.show_plain(output.interval_line(system.interval))
    if comparison is not None:
        names = (system.name for system in systems)
        output.show_plain(output.comparison_line(comparison, *names))
