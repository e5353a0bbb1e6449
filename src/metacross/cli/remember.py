"""``metacross remember``: let a model learn from corrected sentences, without training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metacross.cli import output
from metacross.cli.model_options import DeviceOption, load_model
from metacross.cli.options import CorpusReader, JsonOption, LanguageOption, with_read_options
from metacross.text.sentence import Corpus

if TYPE_CHECKING:
    from metacross.model.remembered import Remembered


@with_read_options
def remember_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Corrected sentences. Without files: list what it remembers."),
    ] = None,
    *,
    language: LanguageOption = None,
    device: DeviceOption = "auto",
    reader: CorpusReader,
    as_json: JsonOption = False,
) -> None:
    """Let a model remember corrected sentences: it adapts to them like to its source sentences.

    The folder of the model keeps them. All sentences of the call that have labels are remembered,
    or none.
    """
    if not files:
        from metacross.model.model_mark import describe_model
        from metacross.model.remembered import read_remembered

        describe_model(model)  # an error if it is no model
        _show(read_remembered(model), as_json=as_json)
        return
    corpora = [reader.read_labeled(file, language=language) for file in files]
    ner_model = load_model(str(model), device=device, overrides=None)
    sentences = tuple(sentence for corpus in corpora for sentence in corpus)
    new = ner_model.remember(Corpus(sentences, source=", ".join(files)), save=True)
    if as_json:
        output.show_json({"new": len(new), "remembered": len(ner_model.remembered)})
        return
    output.show_plain(
        f"{model}: remembered {len(new):,} sentences; it remembers "
        f"{len(ner_model.remembered):,} now"
    )
    if not ner_model.adapts:
        output.show_note("The model does not adapt by default: predict with --adapt.")


def _show(remembered: tuple[Remembered, ...], *, as_json: bool) -> None:
    if as_json:
        output.show_json([remembered_json(item) for item in remembered])
        return
    for item in remembered:
        source = f"  ({item.source})" if item.source else ""
        marked = output.marked_entities(item.sentence).plain
        output.show_plain(f"{item.id}  {item.time}  {marked}{source}")
    output.show_note(f"{len(remembered):,} remembered sentences")


def remembered_json(item: Remembered) -> dict[str, Any]:
    """A remembered sentence as JSON, without its vector."""
    from metacross.text.writing import json_record

    return {
        "id": item.id,
        "time": item.time,
        "source": item.source,
        **json_record(item.sentence),
    }
