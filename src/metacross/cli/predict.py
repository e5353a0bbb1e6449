"""``metacross predict``: find the entities of a text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from metacross.cli.model_options import (
    AdaptationOption,
    DeviceOption,
    Engine,
    EngineOption,
    ModelArgument,
    load_model,
    neighbors_json,
    show_adaptation_notes,
)
from metacross.cli.options import EncodingOption, FormatOption, LanguageOption
from metacross.errors import DataError
from metacross.text.reading import ReadOptions, read_corpus, read_stream
from metacross.text.sentence import Sentence
from metacross.text.writing import conll_lines, json_record

if TYPE_CHECKING:
    from metacross.adaptation.prediction import SentencePrediction


class OutputFormat(str, Enum):
    """How predictions are written."""

    CONLL = "conll"
    JSONL = "jsonl"


def predict_command(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="Text or CoNLL; - is the standard input.")] = "-",
    adapt: Annotated[
        bool | None,
        typer.Option(
            "--adapt/--no-adapt",
            help="Adapt to each sentence. Default: if the model was meta-trained.",
        ),
    ] = None,
    to: Annotated[OutputFormat, typer.Option("--to", help="Output format.")] = OutputFormat.CONLL,
    language: LanguageOption = None,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
    engine: EngineOption = Engine.FAST,
    set_: AdaptationOption = None,
) -> None:
    """Find the entities of a text, sentence by sentence as it comes in."""
    options = ReadOptions(format=format_, encoding=encoding)
    sentences = _sentences(file, language, options)
    first = next(sentences, None)  # errors in the file are reported before torch is loaded
    if first is None:
        raise DataError(f"{file}: expected sentences, found none")
    ner_model = load_model(model, device=device, engine=engine, overrides=set_)
    chunk_size = 512 if file != "-" else 1 if sys.stdin.isatty() else 64  # a pipe may be slow
    stream = chain([first], sentences)
    for prediction in ner_model.predict_stream(stream, adapt=adapt, chunk_size=chunk_size):
        sys.stdout.write(_written(prediction, to))
        sys.stdout.flush()
    if ner_model.adapts if adapt is None else adapt:
        show_adaptation_notes(ner_model, engine)


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


def _written(prediction: SentencePrediction, to: OutputFormat) -> str:
    if to is OutputFormat.CONLL:
        return conll_lines(prediction.labeled)
    sentence = prediction.labeled
    record = json_record(sentence)
    if sentence.layout is not None and sentence.origin is not None:
        record |= {"line": sentence.origin.line, "start": sentence.origin.start}
    for span, score in zip(record["spans"], prediction.scores, strict=True):
        span["score"] = round(score, 4)
    if prediction.neighbors:
        record["neighbors"] = neighbors_json(prediction.neighbors)
    return json.dumps(record, ensure_ascii=False) + "\n"
