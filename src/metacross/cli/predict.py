"""``metacross predict``: find the entities of a text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metacross.cli.model_options import (
    AdaptationOption,
    DeviceOption,
    Engine,
    EngineOption,
    ModelArgument,
    load_model,
    model_name,
    show_adaptation_notes,
)
from metacross.cli.options import (
    AnnotatorOption,
    EncodingOption,
    FormatOption,
    LanguageOption,
    LossyOption,
    show_left_out,
)
from metacross.errors import DataError, SettingsError
from metacross.text.formats import WritableFormat
from metacross.text.reading import ReadOptions, read_corpus, read_stream
from metacross.text.sentence import Sentence
from metacross.text.writing import item_pieces, write_atomically, write_items

if TYPE_CHECKING:
    from metacross.adaptation.prediction import SentencePrediction


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
    to: Annotated[
        WritableFormat, typer.Option("--to", help="Output format.")
    ] = WritableFormat.CONLL,
    output: Annotated[
        Path | None, typer.Option(help="File to write. Default: the standard output.")
    ] = None,
    language: LanguageOption = None,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    annotator: AnnotatorOption = None,
    lossy: LossyOption = False,
    device: DeviceOption = "auto",
    engine: EngineOption = Engine.FAST,
    set_: AdaptationOption = None,
) -> None:
    """Find the entities of a text, sentence by sentence as it comes in."""
    if to is WritableFormat.BRAT and output is None:
        raise SettingsError("--to brat: expected --output FILE.ann, because brat has two files")
    options = ReadOptions(format_, encoding, annotator=annotator, lossy=lossy)
    sentences = _sentences(file, language, options)
    first = next(sentences, None)  # errors in the file are reported before torch is loaded
    if first is None:
        raise DataError(f"{file}: expected sentences, found none")
    ner_model = load_model(model, device=device, engine=engine, overrides=set_)
    chunk_size = 1_024 if file != "-" else 1 if sys.stdin.isatty() else 64  # a pipe may be slow
    stream = chain([first], sentences)
    predictions = ner_model.predict_stream(stream, adapt=adapt, chunk_size=chunk_size)
    _write(predictions, to, output, model_name(model))
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
    corpus = read_corpus(file, language=language, options=options)
    show_left_out(corpus)
    return iter(corpus)


def _write(
    predictions: Iterable[SentencePrediction], to: WritableFormat, output: Path | None, model: str
) -> None:
    """Write predictions as they come; a file appears when it is complete."""
    from metacross.adaptation.prediction_records import prediction_record
    from metacross.adaptation.proposals import proposal_of

    if to is WritableFormat.JSONL:
        pieces: Iterator[str] = (
            json.dumps(prediction_record(prediction), ensure_ascii=False) + "\n"
            for prediction in predictions
        )
    else:
        proposals = (proposal_of(prediction, model=model) for prediction in predictions)
        if output is not None:
            write_items(proposals, output, to)
            return
        pieces = item_pieces(proposals, to)
    if output is not None:
        write_atomically(output, pieces)
        return
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
