"""The whole method on the bundled encoder and corpus."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from metacross.cli import output as console
from metacross.cli.output import marked_entities as marked
from metacross.metrics.scoring import ScoreReport
from metacross.settings import load_settings
from metacross.study.report import blocks
from metacross.study.report.html import html_page
from metacross.study.report.number_format import difference_tone, points_entry, signed
from metacross.text.bundled_corpus import TARGETS, bundled_corpus
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.writing import write_atomically

if TYPE_CHECKING:
    from metacross.adaptation.ner_model import NerModel
    from metacross.adaptation.prediction import Prediction

LANGUAGES = {"es": "Spanish", "nl": "Dutch", "de": "German", "fr": "French", "zh": "Chinese"}

# Little text needs few steps.
_STEPS = (
    "direct.steps=180",
    "meta.steps=180",
    "run.validate_every=30",
    "run.checkpoint_every=30",
)


@dataclass(frozen=True, slots=True)
class Result:
    """The three systems on one language."""

    corpus: Corpus
    base: ScoreReport
    plain: ScoreReport
    adapted: ScoreReport
    plain_predictions: tuple[Prediction, ...]
    adapted_predictions: tuple[Prediction, ...]


def demo_command(
    output: Annotated[Path, typer.Option(help="Folder of the models and the report.")] = Path(
        "demo"
    ),
) -> None:
    """Run the whole method on the bundled encoder and corpus, in minutes, offline."""
    run_demo(output)


def run_demo(output: Path) -> Path:
    """Train, adapt, show; returns the report that it writes."""
    began = time.monotonic()
    _show_corpus()
    base = _trained("direct", output / "base", "the base model: ordinary training on English")
    meta = _trained("meta", output / "meta", "the meta model: learning to adapt fast")
    results = [_result(base, meta, language) for language in TARGETS]
    console.show("")
    console.show(_score_table(results))
    for example in _examples(results):
        _show_example(example, meta)
    report = output / "report.html"
    write_atomically(report, [_report(results, meta)])
    minutes = (time.monotonic() - began) / 60
    _show_ending(output, report, minutes)
    return report


def _show_corpus() -> None:
    table = Table(title="The bundled corpus", title_justify="left")
    table.add_column("language")
    for heading in ("part", "sentences", "words", "LOC", "MISC", "ORG", "PER"):
        table.add_column(heading, justify="right")
    parts = [("en", "train"), ("en", "dev"), *((language, "test") for language in TARGETS)]
    for language, split in parts:
        corpus = bundled_corpus(language, split)
        counts = (f"{n:,}" for n in corpus.entities_by_label.values())
        name = LANGUAGES.get(language, "English")
        table.add_row(name, split, f"{len(corpus):,}", f"{corpus.n_words:,}", *counts)
    console.show(table)


def _trained(method: str, folder: Path, what: str) -> NerModel:
    from metacross.api import train
    from metacross.cli.progress import TrainingBar

    console.show(f"\nTraining [bold]{what}[/bold]")
    overrides = [*_STEPS, f"run.method={method}"]
    if method == "direct":
        overrides += ["loss.max_weight=0"]
    return train(
        bundled_corpus("en", "train"),
        dev=bundled_corpus("en", "dev"),
        recipe=load_settings("mini", overrides),
        output=folder,
        callbacks=[TrainingBar("tasks" if method == "meta" else "sentences")],
    )


def _result(base: NerModel, meta: NerModel, language: str) -> Result:
    from metacross.cli.progress import counting
    from metacross.metrics.scoring import score

    corpus = bundled_corpus(language, "test")

    def report(predictions: Sequence[Prediction]) -> ScoreReport:
        return score(corpus, Corpus(tuple(prediction.labeled for prediction in predictions)))

    plain = tuple(meta.predict_all(corpus, adapt=False))
    with counting(f"adapting to {LANGUAGES[language]}", len(corpus)) as progress:
        adapted = tuple(meta.predict_all(corpus, adapt=True, progress=progress))
    return Result(
        corpus=corpus,
        base=report(list(base.predict_all(corpus, adapt=False))),
        plain=report(plain),
        adapted=report(adapted),
        plain_predictions=plain,
        adapted_predictions=adapted,
    )


def _score_table(results: Sequence[Result]) -> Table:
    table = Table(title="F1 by language (trained on 500 English sentences)", title_justify="left")
    table.add_column("language")
    for heading in ("base", "meta, not adapted", "meta, adapted"):
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(_name(result), *(f"{100 * f1:.1f}" for f1 in _f1s(result)))
    table.add_section()
    table.add_row("mean", *(f"{100 * f1:.1f}" for f1 in _means(results)), style="bold")
    return table


def _name(result: Result) -> str:
    return LANGUAGES[result.corpus[0].language or ""]


def _f1s(result: Result) -> tuple[float, float, float]:
    return result.base.overall.f1, result.plain.overall.f1, result.adapted.overall.f1


def _means(results: Sequence[Result]) -> list[float]:
    columns = zip(*(_f1s(result) for result in results), strict=True)
    return [sum(column) / len(results) for column in columns]


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence that adaptation labeled otherwise than the meta model alone."""

    gold: Sentence
    plain: tuple[Span, ...]
    adapted: Prediction

    @property
    def gain(self) -> int:
        """How many more entities are right after adaptation."""
        right = {*(self.gold.spans or ())}
        return len(right & {*self.adapted.spans}) - len(right & {*self.plain})


def _examples(results: Sequence[Result], most: int = 3) -> list[Example]:
    """Sentences that changed, of different languages, those that changed most first; for better
    or for worse.
    """
    changed: list[Example] = []
    for result in results:
        own = [
            Example(gold, plain.spans, adapted)
            for gold, plain, adapted in zip(
                result.corpus, result.plain_predictions, result.adapted_predictions, strict=True
            )
            if plain.spans != adapted.spans
        ]
        own.sort(key=lambda example: (-abs(example.gain), len(example.gold.words)))
        changed += own[:1]
    changed.sort(key=lambda example: -abs(example.gain))
    return changed[:most]


def _show_example(example: Example, meta: NerModel) -> None:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_row("  right", marked(example.gold))
    lines.add_row("  not adapted", marked(example.gold, example.plain))
    lines.add_row("  adapted", marked(example.gold, example.adapted.spans))
    for neighbor in example.adapted.neighbors:
        sentence = marked(meta.source_sentence(neighbor))
        lines.add_row(f"  learned ({neighbor.similarity:.2f})", sentence)
    language = LANGUAGES[example.gold.language or ""]
    verdict = f"{example.gain:+d} right" if example.gain else "as many right"
    console.show(f"\n[bold]{language}[/bold]: adaptation made a difference ({verdict})")
    console.show(lines)


def _report(results: Sequence[Result], meta: NerModel) -> str:
    headings = ("language", "base", "meta, not adapted", "meta, adapted", "adapted - base")
    rows = [blocks.Row(_name(result), _entries(_f1s(result))) for result in results]
    rows.append(blocks.Row("mean", _entries(_means(results)), tone="strong"))
    cards = tuple(_card(example, meta) for example in _examples(results, most=10))
    section = blocks.Section(
        "results",
        "Results",
        (
            blocks.Table("F1 by language", headings, tuple(rows)),
            blocks.Heading("Where adaptation made a difference"),
            blocks.Cards("examples", cards),
        ),
    )
    introduction = (
        "The complete method on the encoder and corpus that come with metacross: trained on 500 "
        "English sentences, tested on 100 sentences of each language, one seed. F1 is "
        "entity-level, as in conlleval."
    )
    return html_page(blocks.Document("metacross demo", (introduction,), (section,)))


def _entries(f1s: Sequence[float]) -> tuple[blocks.Entry, ...]:
    base, _, adapted = f1s
    gain = 100 * (adapted - base)
    difference = blocks.Entry(signed(gain), tone=difference_tone(gain))
    return (*(points_entry(100 * f1) for f1 in f1s), difference)


def _card(example: Example, meta: NerModel) -> blocks.Card:
    gold, language = example.gold, example.gold.language
    sentences = [
        blocks.LabeledSentence("gold", gold, gold.spans or (), language),
        blocks.LabeledSentence("not adapted", gold, example.plain, language),
        blocks.LabeledSentence("adapted", gold, example.adapted.spans, language),
    ]
    for neighbor in example.adapted.neighbors:
        source = meta.source_sentence(neighbor)
        name = f"adapted to ({neighbor.similarity:.2f})"
        sentences.append(blocks.LabeledSentence(name, source, source.spans or (), source.language))
    return blocks.Card(LANGUAGES[language or ""], tuple(sentences))


def _show_ending(output: Path, report: Path, minutes: float) -> None:
    console.show(
        f"\nDone in {minutes:.1f} minutes. The report: [bold]{report}[/bold]\n\nGo on with:"
    )
    for line in (
        f"metacross predict {output / 'meta'} FILE          find entities in your text",
        f'metacross neighbors {output / "meta"} "TEXT"     what a sentence would learn from',
        "metacross train paper --source TRAIN --dev DEV --encoder ENCODER --output FOLDER",
    ):
        console.show_plain(f"  {line}")
