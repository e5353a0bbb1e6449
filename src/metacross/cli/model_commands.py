"""The commands around a model: train, evaluate, predict, neighbors, fine-tune.

What needs torch is imported inside the commands, so that the other ones start at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from metacross.cli import output as console
from metacross.cli import score_output as score_views
from metacross.cli.entity_text import marked
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
from metacross.errors import DataError, SettingsError
from metacross.settings import Settings, load_settings
from metacross.text.conll import Columns
from metacross.text.reading import ReadOptions, read_corpus, read_stream, unlabeled
from metacross.text.sentence import Sentence
from metacross.text.word_splitting import split_text
from metacross.text.writing import conll_lines, json_record

if TYPE_CHECKING:
    from metacross.adaptation.evaluation import Evaluation
    from metacross.adaptation.ner_model import NerModel
    from metacross.adaptation.prediction import Prediction

ModelArgument: TypeAlias = Annotated[str, typer.Argument(metavar="MODEL", help="A model folder.")]
DeviceOption: TypeAlias = Annotated[str, typer.Option("--device", help="cuda, mps, cpu or auto.")]


class Engine(str, Enum):
    """How a model adapts; both give the same results."""

    FAST = "fast"
    TEXTBOOK = "textbook"


EngineOption: TypeAlias = Annotated[Engine, typer.Option("--engine", help="How to adapt.")]
AdaptationOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", help="Adapt otherwise: adaptation.learning_rate=3e-5. Repeatable."),
]


class OutputFormat(str, Enum):
    """How predictions are written."""

    CONLL = "conll"
    JSONL = "jsonl"


def train_command(
    recipe: Annotated[
        str, typer.Argument(metavar="[RECIPE]", help="A recipe's name, or a YAML file.")
    ] = "paper",
    recipe_option: Annotated[
        str | None, typer.Option("--recipe", help="The same as RECIPE.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Labeled corpus to train on.")] = None,
    dev: Annotated[str | None, typer.Option(help="Corpus to choose the best weights by.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Encoder folder or hub name.")] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the training and model.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting: meta.steps=100.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same as --set run.seed=N.")] = None,
    tensorboard: Annotated[bool, typer.Option(help="Write TensorBoard files too.")] = False,
) -> None:
    """Train a model: meta-training, or direct transfer with the recipe direct.

    The same command goes on after a stop.
    """
    given = {"data.source": source, "data.dev": dev, "encoder.name": encoder, "run.seed": seed}
    named = [f"{key}={json.dumps(value)}" for key, value in given.items() if value is not None]
    settings = load_settings(recipe_option or recipe, [*(set_ or ()), *named])
    if output is None:
        raise SettingsError("--output: expected a folder for the training and the model")
    for key in ("source", "dev"):
        if getattr(settings.data, key) is None:
            raise SettingsError(
                f"data.{key}: expected a labeled corpus; give --{key} FILE or set it in the recipe"
            )
    model = _trained(settings, output, tensorboard=tensorboard)
    console.show_plain(f"{output}: a model for {', '.join(model.labels)}")
    console.show_plain(f"go on with: metacross evaluate {output} FILE")


def _trained(settings: Settings, output: Path, *, tensorboard: bool) -> NerModel:
    from metacross.api import train
    from metacross.cli.progress import TrainingBar
    from metacross.training.callbacks import TensorBoardLog
    from metacross.training.loop import Callback

    callbacks: list[Callback] = [
        TrainingBar("tasks" if settings.run.method == "meta" else "sentences")
    ]
    if tensorboard:
        callbacks.append(TensorBoardLog(output / "training" / "tensorboard"))
    return train(
        settings.data.source or "",
        dev=settings.data.dev or "",
        recipe=settings,
        output=output,
        callbacks=callbacks,
    )


def evaluate_command(
    model: ModelArgument,
    files: Annotated[list[str], typer.Argument(help="Labeled corpora.")],
    adapt: Annotated[
        bool, typer.Option("--adapt/--no-adapt", help="Score with adaptation too.")
    ] = True,
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
    """Score a model on labeled files, with and without adaptation side by side."""
    options, labels = read_options(format_, encoding, Columns(), None), new_labels(map_, drop)
    corpora = [read_relabeled(file, options, labels, language) for file in files]
    from metacross.adaptation.evaluation import evaluate
    from metacross.adaptation.ner_model import load
    from metacross.cli.progress import counting

    ner_model = load(model, device=device, engine=engine.value, settings=set_ or ())
    results = []
    for corpus in corpora:
        with counting(f"adapting to {Path(corpus.name).name}", len(corpus)) as progress:
            evaluation = evaluate(ner_model, corpus, adapt=adapt, progress=progress)
        results.append(_evaluation_json(evaluation))
        if not as_json:
            _show_evaluation(evaluation)
    _tell_engine(ner_model, engine)
    if as_json:
        console.show_json(results)


def _tell_engine(ner_model: NerModel, engine: Engine) -> None:
    """Say when the slow loop had to do the work."""
    if engine is Engine.FAST and ner_model.fallback_reason is not None:
        console.show_note(f"adapted by the textbook loop, since {ner_model.fallback_reason}")
    if ner_model.recall is not None:
        found = f"{100 * ner_model.recall:.1f} %"
        console.show_note(f"faiss looked for neighbors and finds {found} of the nearest ones")


def predict_command(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="Text or CoNLL; - is the standard input.")] = "-",
    adapt: Annotated[
        bool | None,
        typer.Option("--adapt/--no-adapt", help="Default: as the model was made for."),
    ] = None,
    to: Annotated[OutputFormat, typer.Option("--to", help="Format.")] = OutputFormat.CONLL,
    language: LanguageOption = None,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
    engine: EngineOption = Engine.FAST,
    set_: AdaptationOption = None,
) -> None:
    """Find entities, sentence by sentence, as the text comes in."""
    options = ReadOptions(format=format_, encoding=encoding)
    sentences = _sentences(file, language, options)
    first = next(sentences, None)  # what is wrong with the file is said before torch is loaded
    if first is None:
        raise DataError(f"{file}: expected sentences, found none")
    from itertools import chain

    from metacross.adaptation.ner_model import load

    ner_model = load(model, device=device, engine=engine.value, settings=set_ or ())
    at_once = 512 if file != "-" else 1 if sys.stdin.isatty() else 64  # who waits at a pipe?
    given = chain([first], sentences)
    for prediction in ner_model.predict_all(given, adapt=adapt, chunk=at_once):
        sys.stdout.write(_written(prediction, ner_model, to))
        sys.stdout.flush()
    if adapt is not False:
        _tell_engine(ner_model, engine)


def neighbors_command(
    model: ModelArgument,
    text: Annotated[str, typer.Argument(help="A sentence.")],
    k: Annotated[int | None, typer.Option("-k", min=1, help="How many.")] = None,
    language: LanguageOption = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Show the source sentences that a sentence would learn from."""
    layout = split_text(text, language)
    if not layout.offsets:
        raise DataError(f"TEXT: expected a sentence, found {text!r}")
    from metacross.adaptation.ner_model import load

    ner_model = load(model, device=device)
    sentence = unlabeled(layout, language)
    (found,) = ner_model.neighbors([sentence], k=k)
    if as_json:
        console.show_json(_neighbors_json(found, ner_model))
        return
    for rank, neighbor in enumerate(found, start=1):
        line = Text(f"{rank}. {neighbor.similarity:.3f}  ")
        console.show(line + marked(ner_model.source_sentence(neighbor)))


def fine_tune_command(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="Labeled corpus of the target language.")],
    output: Annotated[Path | None, typer.Option(help="Folder of the new model.")] = None,
    fraction: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of the corpus, such as 0.01.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option(min=1, help="So many sentences instead of a share.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the subset and the training.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Train otherwise: fine_tuning.learning_rate=5e-5. Repeatable."),
    ] = None,
    language: LanguageOption = None,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    map_: MapOption = None,
    drop: DropOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Train a model further on a little labeled text of the target language."""
    if output is None:
        raise SettingsError("--output: expected a folder for the new model")
    if (fraction is None) == (sentences is None):
        raise SettingsError("expected either --fraction or --sentences")
    options, labels = read_options(format_, encoding, Columns(), None), new_labels(map_, drop)
    corpus = read_relabeled(file, options, labels, language)
    from metacross.adaptation.ner_model import load
    from metacross.cli.progress import TrainingBar
    from metacross.training.train import fine_tune_model

    n_sentences = sentences or max(1, round((fraction or 0) * len(corpus)))
    ner_model = load(model, device=device, settings=set_ or ())
    fine_tune_model(
        ner_model,
        corpus,
        output,
        n_sentences=n_sentences,
        seed=seed,
        callbacks=[TrainingBar("sentences")],
    )
    console.show_plain(f"{output}: fine-tuned on {n_sentences:,} sentences; it does not adapt")


def _sentences(file: str, language: str | None, options: ReadOptions) -> Iterator[Sentence]:
    if file == "-":
        return read_stream(
            sys.stdin.buffer,
            "<stdin>",
            language=language,
            options=options,
            sniffed_lines=1 if sys.stdin.isatty() else 5,
        )
    return iter(read_corpus(file, language=language, options=options))


def _written(prediction: Prediction, ner_model: NerModel, to: OutputFormat) -> str:
    if to is OutputFormat.CONLL:
        return conll_lines(prediction.labeled)
    record = json_record(prediction.labeled)
    for span, score in zip(record["spans"], prediction.scores, strict=True):
        span["score"] = round(score, 4)
    if prediction.neighbors:
        record["neighbors"] = _neighbors_json(prediction.neighbors, ner_model)
    return json.dumps(record, ensure_ascii=False) + "\n"


def _neighbors_json(found: Iterable[Any], ner_model: NerModel) -> list[dict[str, Any]]:
    return [
        {
            "position": neighbor.position,
            "similarity": round(neighbor.similarity, 6),
            **json_record(ner_model.source_sentence(neighbor)),
        }
        for neighbor in found
    ]


def _evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    result: dict[str, Any] = {
        "file": evaluation.corpus.name,
        "plain": score_views.report_json(evaluation.plain),
    }
    if evaluation.adapted is not None and evaluation.comparison is not None:
        result["adapted"] = score_views.report_json(evaluation.adapted)
        result["comparison"] = score_views.comparison_json(evaluation.comparison)
    return result


def _show_evaluation(evaluation: Evaluation) -> None:
    if evaluation.adapted is None or evaluation.comparison is None:
        console.show(score_views.report_table(evaluation.plain, evaluation.corpus.name))
        return
    table = Table(title=evaluation.corpus.name, title_justify="left")
    table.add_column("type")
    for heading in ("gold", "F1 plain", "F1 adapted", "difference"):
        table.add_column(heading, justify="right")
    plain, adapted = evaluation.plain, evaluation.adapted
    for label in sorted({*plain.by_label, *adapted.by_label}):
        before, after = plain.by_label.get(label), adapted.by_label.get(label)
        gold = before.gold if before else 0
        table.add_row(label, *_cells(gold, before.f1 if before else 0, after.f1 if after else 0))
    table.add_section()
    overall = _cells(plain.overall.gold, plain.overall.f1, adapted.overall.f1)
    table.add_row("all (micro)", *overall, style="bold")
    console.show(table)
    console.show_plain(score_views.comparison_line(evaluation.comparison, "adapted", "plain"))


def _cells(gold: int, before: float, after: float) -> tuple[str, ...]:
    points = f"{100 * (after - before):+.2f}"
    return f"{gold:,}", f"{100 * before:.2f}", f"{100 * after:.2f}", points
