"""``metacross demo``: runs a small study on the bundled encoder and corpus."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from metacross.cli import output as console
from metacross.text.sentence import Corpus, Sentence, Span

if TYPE_CHECKING:
    from metacross.study.results import StoredSentence
    from metacross.study.run_study import StudyResults
    from metacross.study.statistics import ResultsGrid

LANGUAGES = {"es": "Spanish", "nl": "Dutch", "de": "German", "fr": "French", "zh": "Chinese"}
_MAX_EXAMPLES = 3
_SYSTEMS = 2  # of the demo's study


def demo_command(
    output: Annotated[Path, typer.Option(help="Folder of the models and the report.")] = Path(
        "demo"
    ),
) -> None:
    """Train on English, adapt to five languages, show the scores: in minutes, offline."""
    from metacross.cli.study_progress import StudyProgress
    from metacross.model.cores import available_cores
    from metacross.study.run_study import run_study

    start = time.monotonic()
    jobs = min(_SYSTEMS, available_cores())  # processes do not wait for each other, threads do
    with StudyProgress() as progress:
        results = run_study("demo", output=output, jobs=jobs, callback=progress)
    console.show(_score_table(results.grid))
    for example in _examples(results):
        _show_example(example)
    _show_next_steps(results, (time.monotonic() - start) / 60)


def _score_table(grid: ResultsGrid) -> Table:
    table = Table(title="F1 by language (trained on English)", title_justify="left")
    table.add_column("language")
    for heading in ("base", "ours, not adapted", "ours, adapted", "adapted - base"):
        table.add_column(heading, justify="right")
    rows = {target: _f1s(grid, target) for target in grid.targets}
    for target, f1s in rows.items():
        table.add_row(LANGUAGES.get(target, target), *_points(f1s))
    means = [sum(column) / len(rows) for column in zip(*rows.values(), strict=True)]
    table.add_section()
    table.add_row("mean", *_points(means), style="bold")
    return table


def _f1s(grid: ResultsGrid, target: str) -> list[float]:
    (base,) = grid.at(0.0, "base", target).values()
    (ours,) = grid.at(0.0, "ours", target).values()
    return [base.f1, ours.score("plain").f1, ours.score("adapted").f1]


def _points(f1s: Sequence[float]) -> list[str]:
    base, _, adapted = f1s
    return [*(f"{100 * f1:.1f}" for f1 in f1s), f"{100 * (adapted - base):+.1f}"]


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence that is labeled differently after adaptation."""

    gold: Sentence
    plain: tuple[Span, ...]
    adapted: tuple[Span, ...]
    neighbors: tuple[tuple[Sentence, float], ...]

    @property
    def gain(self) -> int:
        """How many more entities are correct after adaptation."""
        gold = {*(self.gold.spans or ())}
        return len(gold & {*self.adapted}) - len(gold & {*self.plain})


def _examples(results: StudyResults) -> list[Example]:
    """The sentence of each language that adaptation changed most, for better or for worse."""
    from metacross.study.predictions import StoredPredictions
    from metacross.study.results import StudyFolder

    stored = StoredPredictions(StudyFolder(results.folder))
    examples = []
    for target in results.targets:
        (result,) = results.grid.at(0.0, "ours", target).values()
        gold, source = stored.gold(result), stored.source(result)
        predictions = stored.sentences(result)
        if gold is not None and source is not None and predictions is not None:
            examples += _most_changed(gold, source, predictions)
    return sorted(examples, key=lambda example: -abs(example.gain))[:_MAX_EXAMPLES]


def _most_changed(
    gold: Corpus, source: Corpus, predictions: Sequence[StoredSentence]
) -> list[Example]:
    examples = [
        Example(
            sentence,
            prediction.spans["plain"],
            prediction.spans["adapted"],
            tuple((source[position], similarity) for position, similarity in prediction.neighbors),
        )
        for sentence, prediction in zip(gold, predictions, strict=True)
        if prediction.spans["plain"] != prediction.spans["adapted"]
    ]
    examples.sort(key=lambda example: (-abs(example.gain), len(example.gold.words)))
    return examples[:1]


def _show_example(example: Example) -> None:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_row("  gold", console.marked_entities(example.gold))
    lines.add_row("  not adapted", console.marked_entities(example.gold, example.plain))
    lines.add_row("  adapted", console.marked_entities(example.gold, example.adapted))
    for neighbor, similarity in example.neighbors:
        lines.add_row(f"  neighbor ({similarity:.2f})", console.marked_entities(neighbor))
    language = LANGUAGES.get(example.gold.language or "", "Example")
    change = f"{example.gain:+d} correct" if example.gain else "equally many correct"
    console.show(f"\n[bold]{language}[/bold]: changed by adaptation ({change})")
    console.show(lines)


def _show_next_steps(results: StudyResults, minutes: float) -> None:
    ours = next(result for result in results.results if result.system == "ours")
    folder = results.folder / "runs" / ours.training.folder
    console.show_plain(f"\nDone in {minutes:.1f} minutes. Open the report: {results.report}")
    console.show_plain("\nNext:")
    for line in (
        f"metacross predict {folder} FILE      find entities in your text",
        f'metacross neighbors {folder} "TEXT"  show the source sentences it adapts to',
        "metacross train paper --source TRAIN --dev DEV --encoder ENCODER --output FOLDER",
    ):
        console.show_plain(f"  {line}")
