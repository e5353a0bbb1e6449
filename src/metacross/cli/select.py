"""``metacross select``: which sentences to label next."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metacross.cli import output as console
from metacross.cli.model_options import (
    AdaptationOption,
    DeviceOption,
    ModelArgument,
    load_model,
    model_name,
)
from metacross.cli.options import CorpusReader, LanguageOption, with_read_options
from metacross.errors import SettingsError
from metacross.text.formats import WritableFormat
from metacross.text.writing import item_pieces, write_atomically, write_items

if TYPE_CHECKING:
    from metacross.adaptation.selection import Selected
    from metacross.text.annotation_formats.proposal import Proposal

_WAYS = "mixed, disagreement, uncertainty, far, diverse or random"


@with_read_options
def select_command(
    model: ModelArgument,
    pool: Annotated[str, typer.Argument(help="Text of the target language, in any format.")],
    *,
    n: Annotated[int, typer.Option("--n", min=1, help="How many sentences to choose.")] = 100,
    by: Annotated[str, typer.Option(help=f"How to choose: {_WAYS}.")] = "uncertainty",
    to: Annotated[
        WritableFormat, typer.Option("--to", help="Output format.")
    ] = WritableFormat.JSONL,
    output: Annotated[
        Path | None, typer.Option(help="File to write. Default: the standard output.")
    ] = None,
    labeled: Annotated[
        list[str] | None,
        typer.Option(help="Corpus that is labeled already; not chosen again. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random choices.")] = 0,
    language: LanguageOption = None,
    reader: CorpusReader,
    device: DeviceOption = "auto",
    set_: AdaptationOption = None,
) -> None:
    """Choose the sentences of a text that are worth labeling next, with proposed labels.

    Each has a rank and the reasons for it. For Label Studio, the score of a task is its rank, so
    that sampling by uncertainty shows the best ones first. Choosing by uncertainty was better than
    random choice where we measured it; the other ways are experimental.
    """
    if to is WritableFormat.BRAT and output is None:
        raise SettingsError("--to brat: expected --output FILE.ann, because brat has two files")
    corpus = reader.read(pool, language=language)
    known = [s for file in labeled or () for s in reader.read(file, language=language)]
    ner_model = load_model(model, device=device, overrides=set_)
    from metacross.adaptation.selection import select
    from metacross.cli.progress import counting

    with counting(Path(pool).name, len(corpus)) as count:
        chosen = select(ner_model, corpus, n=n, by=by, labeled=known, seed=seed, progress=count)
    _write(chosen, to, output, model_name(model))
    if len(chosen) == len(corpus) < n:
        console.show_note(f"{pool}: chose all {len(chosen):,} sentences; there are no more")
    elif len(chosen) < n:
        console.show_note(
            f"{pool}: chose {len(chosen):,} sentences; the others are labeled or near-copies"
        )


def _write(chosen: list[Selected], to: WritableFormat, output: Path | None, model: str) -> None:
    if to is WritableFormat.JSONL:
        pieces: Iterator[str] = map(_json_line, chosen)
    else:
        proposals = [_proposal(item, model, len(chosen)) for item in chosen]
        if output is not None:
            write_items(proposals, output, to)
            return
        pieces = item_pieces(proposals, to)
    if output is not None:
        write_atomically(output, pieces)
        return
    for piece in pieces:
        sys.stdout.write(piece)


def _proposal(item: Selected, model: str, n: int) -> Proposal:
    """A proposal whose score is its rank: tools that show low scores first keep the order."""
    from dataclasses import replace

    from metacross.adaptation.proposals import proposal_of

    facts = {"rank": item.rank, "reasons": item.reasons}
    return replace(proposal_of(item.prediction, model=model, facts=facts), score=item.rank / n)


def _json_line(item: Selected) -> str:
    from metacross.adaptation.prediction_records import scored_record

    ranked = {"rank": item.rank, "reasons": item.reasons, **scored_record(item.prediction)}
    return json.dumps(ranked, ensure_ascii=False) + "\n"
