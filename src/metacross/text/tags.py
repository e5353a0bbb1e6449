"""Converts tags to entities and entities to tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from metacross.errors import DataError
from metacross.text.sentence import Repair, Span

OUTSIDE = "O"


class Scheme(str, Enum):
    """A scheme that writes entities as one tag per word."""

    IOB2 = "IOB2"
    IOB1 = "IOB1"
    IO = "IO"
    BIOES = "BIOES"
    BILOU = "BILOU"

    def __str__(self) -> str:
        return self.value


# BILOU writes Last and Unit for what BIOES writes as End and Single.
_PREFIX_MEANING = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}
_BIOES_ONLY, _BILOU_ONLY = frozenset("ES"), frozenset("LU")


def split_tag(tag: str) -> tuple[str, str]:
    """The prefix and the label of a tag; the label of ``O`` is empty.

    >>> split_tag("B-creative-work")
    ('B', 'creative-work')
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, label = tag.partition("-")
    if prefix not in _PREFIX_MEANING:
        allowed = "O or one of B- I- E- S- L- U- and a label"
        raise DataError(f"expected {allowed} as tag, found {tag!r}")
    if not dash or not label:
        raise DataError(f"expected a label after the prefix, as in '{prefix}-PER', found {tag!r}")
    return prefix, label


def spans_from_tags(tags: Sequence[str]) -> tuple[Span, ...]:
    """The entities of a sentence from its tags, in any scheme.

    Ill-formed sequences are read as conlleval reads them: an ``I-`` or ``E-`` that continues no
    entity starts one, and so does a tag with another label than the tag before it.

    >>> spans_from_tags(["B-PER", "I-PER", "O", "I-LOC"])
    (Span(start=0, end=2, label='PER'), Span(start=3, end=4, label='LOC'))
    """
    spans: list[Span] = []
    start, previous_prefix, previous_label = 0, OUTSIDE, ""
    for position, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        prefix = _PREFIX_MEANING.get(prefix, prefix)
        continues = previous_prefix in "BI" and prefix in "IE" and label == previous_label
        if previous_prefix != OUTSIDE and not continues:
            spans.append(Span(start, position, previous_label))
        if prefix != OUTSIDE and not continues:
            start = position
        previous_prefix, previous_label = prefix, label
    if previous_prefix != OUTSIDE:
        spans.append(Span(start, len(tags), previous_label))
    return tuple(spans)


def tags_from_spans(
    spans: Sequence[Span], n_words: int, scheme: Scheme = Scheme.IOB2
) -> tuple[str, ...]:
    """The tags of a sentence from its entities.

    >>> tags_from_spans([Span(0, 2, "PER")], 3)
    ('B-PER', 'I-PER', 'O')
    """
    tags = [OUTSIDE] * n_words
    for span, adjacent in _with_adjacency(spans):
        prefixes = _prefixes(span.end - span.start, scheme, adjacent=adjacent)
        tags[span.start : span.end] = [f"{prefix}-{span.label}" for prefix in prefixes]
    return tuple(tags)


def _with_adjacency(spans: Sequence[Span]) -> Iterator[tuple[Span, bool]]:
    """Each entity, and whether an entity with the same label ends where it starts."""
    previous_end, previous_label = 0, ""
    for span in spans:
        yield span, span.start == previous_end and span.label == previous_label
        previous_end, previous_label = span.end, span.label


def _prefixes(length: int, scheme: Scheme, *, adjacent: bool) -> str:
    """The prefixes of one entity. IOB1 writes B only directly after an entity of the same label."""
    if scheme is Scheme.IO:
        return "I" * length
    if scheme is Scheme.IOB1 and not adjacent:
        return "I" * length
    if scheme in (Scheme.IOB1, Scheme.IOB2):
        return "B" + "I" * (length - 1)
    last, unit = ("E", "S") if scheme is Scheme.BIOES else ("L", "U")
    return unit if length == 1 else "B" + "I" * (length - 2) + last


class SchemeDetector:
    """Detects the tag scheme of a corpus: the one that would write most of its tags as they are.

    The tags that this scheme would write differently count as repaired.
    """

    def __init__(self, *, max_examples: int = 20) -> None:
        self._max_examples = max_examples
        self._mismatches = dict.fromkeys(Scheme, 0)
        self._examples: dict[Scheme, list[Repair]] = {scheme: [] for scheme in Scheme}
        self._prefixes: set[str] = set()

    def add(
        self, tags: Sequence[str], spans: Sequence[Span], source: str, line_numbers: Sequence[int]
    ) -> None:
        """Count a sentence's tags, given the entities read from them."""
        prefixes = self._prefixes | {tag[0] for tag in tags}
        if prefixes & _BIOES_ONLY and prefixes & _BILOU_ONLY:
            conflicting = _BILOU_ONLY if self._prefixes & _BIOES_ONLY else _BIOES_ONLY
            position = next((i for i, tag in enumerate(tags) if tag[0] in conflicting), 0)
            raise DataError(
                f"{source}:{line_numbers[position]}: expected one tag scheme in the corpus, "
                f"found {tags[position]!r} in addition to tags of the other of BIOES and BILOU"
            )
        self._prefixes = prefixes
        for span, adjacent in _with_adjacency(spans):
            found = "".join([tag[0] for tag in tags[span.start : span.end]])
            for scheme in Scheme:
                expected = _prefixes(span.end - span.start, scheme, adjacent=adjacent)
                if found != expected:
                    lines = line_numbers[span.start : span.end]
                    self._add_mismatches(scheme, span.label, found, expected, source, lines)

    def _add_mismatches(
        self,
        scheme: Scheme,
        label: str,
        found: str,
        expected: str,
        source: str,
        line_numbers: Sequence[int],
    ) -> None:
        """Count the prefixes of an entity that differ from those the scheme would write."""
        different = [i for i, prefix in enumerate(found) if prefix != expected[i]]
        self._mismatches[scheme] += len(different)
        examples = self._examples[scheme]
        for i in different[: self._max_examples - len(examples)]:
            place = f"{source}:{line_numbers[i]}"
            examples.append(Repair(place, f"{found[i]}-{label}", f"{expected[i]}-{label}"))

    @property
    def scheme(self) -> Scheme:
        """The best match; of equal matches, the first of IOB2, IOB1, IO, BIOES, BILOU.

        A corpus with I- tags only is IO.
        """
        if self._prefixes <= {"I", OUTSIDE} and "I" in self._prefixes:
            return Scheme.IO
        return min(Scheme, key=lambda scheme: self._mismatches[scheme])

    @property
    def repairs(self) -> int:
        """How many tags the scheme would write differently."""
        return self._mismatches[self.scheme]

    @property
    def repair_examples(self) -> tuple[Repair, ...]:
        """The first of the repaired tags."""
        return tuple(self._examples[self.scheme])


@dataclass(frozen=True, slots=True)
class TagSet:
    """The IOB2 tags of some labels, numbered; ``O`` is 0.

    >>> TagSet(("LOC", "PER")).tags
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.labels:
            raise DataError("expected at least one label, found none")
        if len(set(self.labels)) != len(self.labels):
            raise DataError(f"expected every label once, found {', '.join(self.labels)}")

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags, in the order of their numbers."""
        return (OUTSIDE, *(f"{prefix}-{label}" for label in self.labels for prefix in "BI"))

    def __len__(self) -> int:
        return 1 + 2 * len(self.labels)

    def ids(self, spans: Sequence[Span], n_words: int) -> tuple[int, ...]:
        """The tag numbers of a sentence, from its entities."""
        tag_ids = {tag: i for i, tag in enumerate(self.tags)}
        try:
            return tuple(tag_ids[tag] for tag in tags_from_spans(spans, n_words))
        except KeyError as unknown_tag:
            labels = ", ".join(self.labels)
            raise DataError(f"expected the labels {labels}, found {unknown_tag}") from None

    def spans(self, tag_ids: Sequence[int]) -> tuple[Span, ...]:
        """The entities of a sentence, from its tag numbers."""
        tags = self.tags
        return spans_from_tags([tags[tag_id] for tag_id in tag_ids])
