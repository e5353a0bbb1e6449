"""Writes the model card of a folder, with results of studies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from metacross.errors import ModelError, SettingsError
from metacross.model.card_reading import card_of_folder, content_of_card, written_by_metacross
from metacross.model.datastore import SOURCE
from metacross.model.hub_models import find_model
from metacross.model.model_card import CARD, HUB, CardContent, card_text, entity_examples
from metacross.model.model_mark import describe_model
from metacross.study.card_results import results_of_model
from metacross.text.reading import read_corpus
from metacross.text.writing import write_atomically

_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def write_card(
    model: str | Path,
    *,
    results: Sequence[str | Path] = (),
    license_id: str | None = None,
    source_license: str | None = None,
    datasets: Sequence[str] = (),
    output: str | Path | None = None,
) -> Path:
    """Write the card of a model: what it is, its data, results and licenses.

    ``results`` are ``results.jsonl`` files of studies. What is not given is taken from the card
    that the folder has. ``license_id`` is the license of the weights, ``source_license`` that of
    the source sentences in the folder; only with it does the card show entities as examples.
    ``output=None`` writes README.md in the folder.
    """
    location = str(model)
    if output is None and location.startswith(HUB):
        raise SettingsError("--output: expected a file to write the card of a hub model to")
    folder = find_model(model).folder
    description = describe_model(folder)
    existing = card_of_folder(folder) or ""
    if output is None and existing and not written_by_metacross(existing):
        raise ModelError(
            f"{folder / CARD}: expected a card by metacross, found another text; give --output, or "
            "remove it"
        )
    content = given_content(content_of_card(existing), license_id, source_license, datasets)
    if results:
        measured = results_of_model(description, [Path(file) for file in results])
        content = replace(content, results=tuple(measured))
    shown_location = location if location.startswith(HUB) else folder.resolve().name
    path = folder / CARD if output is None else Path(output)
    write_atomically(path, [card_of(folder, content, location=shown_location)])
    return path


def card_of(folder: Path, content: CardContent, *, location: str) -> str:
    """The card of a folder, with examples if the license of the source sentences is known."""
    description = describe_model(folder)
    if description.has_datastore and content.source_license:
        content = replace(content, examples=entity_examples(read_corpus(folder / SOURCE)))
    return card_text(description, content, location=location)


def given_content(
    content: CardContent,
    license_id: str | None,
    source_license: str | None,
    datasets: Sequence[str] = (),
) -> CardContent:
    """The content with what a user gave in place of what it had."""
    for option, value in (("--license", license_id), ("--source-license", source_license)):
        if value is not None and not _LICENSE.fullmatch(value):
            raise SettingsError(
                f"{option}: expected the id of a license, such as cc-by-4.0, found {value!r}"
            )
    return replace(
        content,
        license=license_id or content.license,
        source_license=source_license or content.source_license,
        datasets=tuple(dict.fromkeys([*content.datasets, *datasets])),
    )
