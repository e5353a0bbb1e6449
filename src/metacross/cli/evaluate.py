"""``metacross evaluate``: score a model on labeled files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from metacross.cli import output
from metacross.cli.model_options import (
    AdaptationOption,
    DeviceOption,
    Engine,
    EngineOption,
    ModelArgument,
    load_model,
    show_adaptation_notes,
)
from metacross.cli.options import CorpusReader, JsonOption, LanguageOption, with_read_options

if TYPE_CHECKING:
    from metacross.adaptation.evaluation import Evaluation


@with_read_options
def evaluate_command(
    model: ModelArgument,
    files: Annotated[list[str], typer.Argument(help="Labeled corpora.")],
    *,
    adapt: Annotated[
        bool | None,
        typer.Option(
            "--adapt/--no-adapt",
            help="Score with adaptation too. Default: if the model was meta-trained.",
        ),
    ] = None,
    language: LanguageOption = None,
    reader: CorpusReader,
    device: DeviceOption = "auto",
    engine: EngineOption = Engine.FAST,
    set_: AdaptationOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a model on labeled files, without and with adaptation side by side."""
    corpora = [reader.read(file, language=language) for file in files]
    from metacross.cli.progress import counting

    ner_model = load_model(model, device=device, engine=engine, overrides=set_)
    results, any_adapted = [], False
    for corpus in corpora:
        with counting(f"adapting to {Path(corpus.name).name}", len(corpus)) as progress:
            evaluation = ner_model.evaluate(corpus, adapt=adapt, progress=progress)
        any_adapted = any_adapted or evaluation.adapted is not None
        results.append(_evaluation_json(evaluation))
        if not as_json:
            _show_evaluation(evaluation)
    if any_adapted:
        show_adaptation_notes(ner_model, engine)
    if as_json:
        output.show_json(results)


def _evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    result: dict[str, Any] = {
        "file": evaluation.corpus.name,
        "plain": output.report_json(evaluation.plain),
    }
    if evaluation.adapted is not None and evaluation.comparison is not None:
        result["adapted"] = output.report_json(evaluation.adapted)
        result["comparison"] = output.comparison_json(evaluation.comparison)
    return result


def _show_evaluation(evaluation: Evaluation) -> None:
    if evaluation.adapted is None or evaluation.comparison is None:
        output.show(output.report_table(evaluation.plain, evaluation.corpus.name))
        return
    table = Table(title=evaluation.corpus.name, title_justify="left")
    table.add_column("type")
    for heading in ("gold", "F1 plain", "F1 adapted", "difference"):
        table.add_column(heading, justify="right")
    plain, adapted = evaluation.plain, evaluation.adapted
    for label in sorted({*plain.by_label, *adapted.by_label}):
        before, after = plain.by_label.get(label), adapted.by_label.get(label)
        gold = before.gold if before else 0
        table.add_row(label, *_row(gold, before.f1 if before else 0, after.f1 if after else 0))
    table.add_section()
    overall = _row(plain.overall.gold, plain.overall.f1, adapted.overall.f1)
    table.add_row("all (micro)", *overall, style="bold")
    output.show(table)
    output.show_plain(output.comparison_line(evaluation.comparison, "adapted", "plain"))


def _row(gold: int, before: float, after: float) -> tuple[str, ...]:
    points = f"{100 * (after - before):+.2f}"
    return f"{gold:,}", f"{100 * before:.2f}", f"{100 * after:.2f}", points
