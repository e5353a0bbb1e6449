"""Keeps what a reader meets besides sentences."""

from __future__ import annotations

from collections.abc import Sequence

from metacross.errors import DataError
from metacross.text.sentence import ReadingNotes, Span
from metacross.text.tags import SchemeDetector, spans_from_tags, split_tag


class ReadingLog:
    """Handed to a reader, which fills it while its sentences are drawn."""

    def __init__(self) -> None:
        self.documents = 0
        self.empty_sentences = 0
        self._scheme_detector = SchemeDetector()
        self._known_tags: set[str] = set()

    def check_tag(self, tag: object, place: str) -> None:
        """Refuse what is no tag of any scheme."""
        if not isinstance(tag, str):
            raise DataError(f"{place}: expected a tag such as 'B-PER', found {tag!r}")
        if tag in self._known_tags:
            return
        try:
            split_tag(tag)
        except DataError as problem:
            raise DataError(f"{place}: {problem}") from None
        self._known_tags.add(tag)

    def spans(
        self, tags: Sequence[str], source: str, line_numbers: Sequence[int]
    ) -> tuple[Span, ...]:
        """The entities of a sentence whose tags were checked, each in a numbered line."""
        spans = spans_from_tags(tags)
        self._scheme_detector.add(tags, spans, source, line_numbers)
        return spans

    @property
    def notes(self) -> ReadingNotes:
        """What was met so far."""
        tagged = bool(self._known_tags)
        return ReadingNotes(
            documents=self.documents,
            empty_sentences=self.empty_sentences,
            scheme=str(self._scheme_detector.scheme) if tagged else None,
            repairs=self._scheme_detector.repairs if tagged else 0,
            repair_examples=self._scheme_detector.repair_examples if tagged else (),
        )
