"""Records what a reader notices in a corpus besides its sentences."""

from __future__ import annotations

from collections.abc import Sequence

from metacross.errors import DataError
from metacross.text.sentence import ReadingNotes, Span
from metacross.text.tags import SchemeDetector, spans_from_tags, split_tag


class ReadingLog:
    """Passed to a reader, which updates it with every sentence it yields."""

    def __init__(self) -> None:
        self.documents = 0
        self.empty_sentences = 0
        self._scheme_detector = SchemeDetector()
        self._checked_tags: dict[str, str] = {}

    def checked_tag(self, tag: object, place: str) -> str:
        """The tag, as one shared string per distinct tag; an error if it is not a valid tag."""
        if not isinstance(tag, str):
            raise DataError(f"{place}: expected a tag such as 'B-PER', found {tag!r}")
        if tag not in self._checked_tags:
            try:
                split_tag(tag)
            except DataError as error:
                raise DataError(f"{place}: {error}") from None
            self._checked_tags[tag] = tag
        return self._checked_tags[tag]

    def spans(
        self, tags: Sequence[str], source: str, line_numbers: Sequence[int]
    ) -> tuple[Span, ...]:
        """The entities of a sentence from its checked tags, with the line number of each tag."""
        spans = spans_from_tags(tags)
        self._scheme_detector.add(tags, spans, source, line_numbers)
        return spans

    @property
    def notes(self) -> ReadingNotes:
        """The notes on everything read so far."""
        tagged = bool(self._checked_tags)
        return ReadingNotes(
            documents=self.documents,
            empty_sentences=self.empty_sentences,
            scheme=str(self._scheme_detector.scheme) if tagged else None,
            repairs=self._scheme_detector.repairs if tagged else 0,
            repair_examples=self._scheme_detector.repair_examples if tagged else (),
        )
