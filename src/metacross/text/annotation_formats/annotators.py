"""Chooses among the annotations that several people made of one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metacross.errors import DataError
from metacross.text.annotation_formats.annotated_text import CharacterEntity
from metacross.text.reading_log import ReadingLog

FIRST, AGREED, MODEL = "first", "agreed", "model"
"""Choices besides the id of an annotator; ``model`` reads a model's proposals instead."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one annotator made of a text; ``annotator`` may be empty."""

    annotator: str
    entities: tuple[CharacterEntity, ...]

    @property
    def content(self) -> frozenset[tuple[int, int, str]]:
        """What is compared between annotators."""
        return frozenset((entity.start, entity.end, entity.label) for entity in self.entities)


def chosen_annotation(
    annotations: Sequence[Annotation], choice: str | None, place: str, log: ReadingLog
) -> Annotation | None:
    """The annotation to read; None: leave the text out, which the log says.

    ``choice`` None: all annotators must agree. ``annotations`` has at least one.
    """
    if choice not in (None, FIRST, AGREED, MODEL):
        return _by_annotator(annotations, str(choice), place, log)
    first = annotations[0]
    if choice == FIRST or all(other.content == first.content for other in annotations):
        return first
    names = ", ".join(annotation.annotator or "unnamed" for annotation in annotations)
    if choice == AGREED:
        log.omit(place, f"the annotators {names} do not agree: the text is left out")
        return None
    raise DataError(
        f"{place}: expected one annotation, found different ones of the annotators {names}; "
        "choose with --annotator ID, --annotator first or --annotator agreed"
    )


def _by_annotator(
    annotations: Sequence[Annotation], annotator: str, place: str, log: ReadingLog
) -> Annotation | None:
    found = [annotation for annotation in annotations if annotation.annotator == annotator]
    if not found:
        names = ", ".join(annotation.annotator or "unnamed" for annotation in annotations)
        log.omit(place, f"not annotated by {annotator}, only by {names}: the text is left out")
        return None
    return found[-1]
