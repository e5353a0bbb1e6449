"""``metacross evaluate``: score a model on labeled files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from metacross.cli import output as console
from metacross.cli import score_output
from metacross.cli.model_options import (
    AdaptationOption,
    DeviceOption,
    Engine,
    EngineOption,
    ModelArgument,
    load_model,
    show_adaptation_notes,
)
from metacross.cli.options import (
    DropOption,
    EncodingOption,
    FormatOption,
    JsonOption,
    LanguageOption,
    MapOption,
    new_labels,
    read_options,
    read_relabeled,
)
from metacross.text.conll import Columns

if TYPE_CHECKING:
    from metacross.adaptation.evaluation import Evaluation


def evaluate_command(
    model: ModelArgument,
    files: Annotated[list[str], typer.Argument(help="Labeled corpora.")],
    adapt: Annotated[
        bool | None,
        typer.Option(
            "--adapt/--no-adapt",
            help="Score with adaptation too. Default: if the model was meta-trained.",
        ),
    ] = None,
    language: LanguageOption = None,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    map_: MapOption = None,
    drop: DropOption = None,
    device: DeviceOption = "auto",
    engine: EngineOption = Engine.FAST,
    set_: AdaptationOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a model on labeled files, without and with adaptation side by side."""
    options, labels = read_options(format_, encoding, Columns(), None), new_labels(map_, drop)
    corpora = [read_relabeled(file, options, labels, language) for file in files]
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
        console.show_json(results)


def _evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    result: dict[str, Any] = {
        "file": evaluation.corpus.name,
        "plain": score_output.report_json(evaluation.plain),
    }
    if evaluation.adapted is not None and evaluation.comparison is not None:
        result["adapted"] = score_output.report_json(evaluation.adapted)
        result["comparison"] = score_output.comparison_json(evaluation.comparison)
    return result


def _show_evaluation(evaluation: Evaluation) -> None:
    if evaluation.adapted is None or evaluation.comparison is None:
        console.show(score_output.report_table(evaluation.plain, evaluation.corpus.name))
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
    console.show(table)
    console.show_plain(score_output.comparison_line(evaluation.comparison, "adapted", "plain"))


def _row(gold: int, before: float, after: float) -> tuple[str, ...]:
    points = f"{100 * (after - before):+.2f}"
    return f"{gold:,}", f"{100 * before:.2f}", f"{100 * after:.2f}", points
