"""Records what a reader notices in a corpus besides its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from metacross.errors import DataError
from metacross.text.sentence import Omission, ReadingNotes, Span
from metacross.text.tags import SchemeDetector, spans_from_tags, split_tag


class ReadingLog:
    """Passed to a reader, which updates it with every sentence it yields.

    ``lossy`` says whether annotations that cannot be read are left out, or refused.
    """

    def __init__(self, *, lossy: bool = False) -> None:
        self.documents = 0
        self.empty_sentences = 0
        self.lossy = lossy
        self._omissions: list[Omission] = []
        self._remarks: Counter[str] = Counter()
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

    def omit(self, place: str, reason: str) -> None:
        """Record that an annotation is not in the corpus, and why."""
        self._omissions.append(Omission(place, reason))

    def lose(self, place: str, problem: str) -> None:
        """Refuse an annotation that cannot be read; where losses are allowed, leave it out."""
        if not self.lossy:
            raise DataError(f"{place}: {problem}; --lossy leaves it out and says so")
        self.omit(place, problem)

    def remark(self, text: str) -> None:
        """Record a decision that a user should know of; equal ones are counted."""
        self._remarks[text] += 1

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
            omissions=tuple(self._omissions),
            remarks=tuple(f"{text} ({n:,} times)" for text, n in self._remarks.items()),
        )
