"""Turns tags into entities, and entities into tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from metacross.errors import DataError
from metacross.text.sentence import Repair, Span

OUTSIDE = "O"


class Scheme(str, Enum):
    """A way of writing entities as one tag a word."""

    IOB2 = "IOB2"
    IOB1 = "IOB1"
    IO = "IO"
    BIOES = "BIOES"
    BILOU = "BILOU"

    def __str__(self) -> str:
        return self.value


# BILOU says Last and Unit where BIOES says End and Single.
_PREFIX_MEANING = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}
_BIOES_ONLY, _BILOU_ONLY = frozenset("ES"), frozenset("LU")


def split_tag(tag: str) -> tuple[str, str]:
    """The prefix and the type of a tag; ``O`` has no type.

    >>> split_tag("B-creative-work")
    ('B', 'creative-work')
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, label = tag.partition("-")
    if prefix not in _PREFIX_MEANING:
        allowed = "O or one of B- I- E- S- L- U- and a type"
        raise DataError(f"expected {allowed} as tag, found {tag!r}")
    if not dash or not label:
        raise DataError(f"expected a type behind the prefix, as in '{prefix}-PER', found {tag!r}")
    return prefix, label


def spans_from_tags(tags: Sequence[str]) -> tuple[Span, ...]:
    """Read the entities out of the tags of a sentence, whatever their scheme.

    The rules are conlleval's, so that no tag is an error: an ``I-`` or ``E-`` that continues
    nothing opens an entity, and so does any tag of another type than the one before it.

    >>> spans_from_tags(["B-PER", "I-PER", "O", "I-LOC"])
    (Span(start=0, end=2, label='PER'), Span(start=3, end=4, label='LOC'))
    """
    spans: list[Span] = []
    start, before, label_before = 0, OUTSIDE, ""
    for position, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        prefix = _PREFIX_MEANING.get(prefix, prefix)
        continues = before in "BI" and prefix in "IE" and label == label_before
        if before != OUTSIDE and not continues:
            spans.append(Span(start, position, label_before))
        if prefix != OUTSIDE and not continues:
            start = position
        before, label_before = prefix, label
    if before != OUTSIDE:
        spans.append(Span(start, len(tags), label_before))
    return tuple(spans)


def tags_from_spans(
    spans: Sequence[Span], n_words: int, scheme: Scheme = Scheme.IOB2
) -> tuple[str, ...]:
    """Write the entities of a sentence as tags.

    >>> tags_from_spans([Span(0, 2, "PER")], 3)
    ('B-PER', 'I-PER', 'O')
    """
    tags = [OUTSIDE] * n_words
    for span, touches in _with_touching(spans):
        prefixes = _prefixes(span.end - span.start, scheme, touches_its_like=touches)
        tags[span.start : span.end] = [f"{prefix}-{span.label}" for prefix in prefixes]
    return tuple(tags)


def _with_touching(spans: Sequence[Span]) -> Iterator[tuple[Span, bool]]:
    """Each entity, and whether one of the same type ends where it begins."""
    end_before, label_before = 0, ""
    for span in spans:
        yield span, span.start == end_before and span.label == label_before
        end_before, label_before = span.end, span.label


def _prefixes(length: int, scheme: Scheme, *, touches_its_like: bool) -> str:
    """The prefixes of one entity; IOB1 says B only between two entities that touch."""
    if scheme is Scheme.IO:
        return "I" * length
    if scheme is Scheme.IOB1 and not touches_its_like:
        return "I" * length
    if scheme in (Scheme.IOB1, Scheme.IOB2):
        return "B" + "I" * (length - 1)
    last, unit = ("E", "S") if scheme is Scheme.BIOES else ("L", "U")
    return unit if length == 1 else "B" + "I" * (length - 2) + last


class SchemeDetector:
    """Finds the scheme of a corpus: the one that would have written most of its tags as they are.

    The tags that the found scheme would have written otherwise are the repaired ones.
    """

    def __init__(self, *, examples: int = 20) -> None:
        self._max_examples = examples
        self._mismatches = dict.fromkeys(Scheme, 0)
        self._examples: dict[Scheme, list[Repair]] = {scheme: [] for scheme in Scheme}
        self._prefixes: set[str] = set()

    def add(
        self, tags: Sequence[str], spans: Sequence[Span], source: str, line_numbers: Sequence[int]
    ) -> None:
        """Take a sentence's tags into account, with the entities read from them."""
        prefixes = {tag[0] for tag in tags}
        both = self._prefixes | prefixes
        if both & _BIOES_ONLY and both & _BILOU_ONLY:
            odd = _BILOU_ONLY if self._prefixes & _BIOES_ONLY else _BIOES_ONLY
            position = next((i for i, tag in enumerate(tags) if tag[0] in odd), 0)
            raise DataError(
                f"{source}:{line_numbers[position]}: expected one tag scheme in the whole corpus, "
                f"found {tags[position]!r} after tags of the other of BIOES and BILOU"
            )
        self._prefixes = both
        for span, touches in _with_touching(spans):
            found = "".join([tag[0] for tag in tags[span.start : span.end]])
            for scheme in Scheme:
                meant = _prefixes(span.end - span.start, scheme, touches_its_like=touches)
                if found != meant:
                    self._note(scheme, span, found, meant, source, line_numbers)

    def _note(
        self,
        scheme: Scheme,
        span: Span,
        found: str,
        meant: str,
        source: str,
        line_numbers: Sequence[int],
    ) -> None:
        different = [i for i, prefix in enumerate(found) if prefix != meant[i]]
        self._mismatches[scheme] += len(different)
        examples = self._examples[scheme]
        for i in different[: self._max_examples - len(examples)]:
            place = f"{source}:{line_numbers[span.start + i]}"
            repair = Repair(place, f"{found[i]}-{span.label}", f"{meant[i]}-{span.label}")
            examples.append(repair)

    @property
    def scheme(self) -> Scheme:
        """The best match; where several match as well, the first of IOB2, IOB1, IO, BIOES, BILOU.

        A corpus of I- tags only is IO: it cannot tell two entities that touch apart.
        """
        if self._prefixes <= {"I", OUTSIDE} and "I" in self._prefixes:
            return Scheme.IO
        return min(Scheme, key=lambda scheme: self._mismatches[scheme])

    @property
    def repairs(self) -> int:
        """How many tags the scheme would have written otherwise."""
        return self._mismatches[self.scheme]

    @property
    def repair_examples(self) -> tuple[Repair, ...]:
        """The first of the repaired tags."""
        return tuple(self._examples[self.scheme])


@dataclass(frozen=True, slots=True)
class TagSet:
    """The IOB2 tags of some entity types, numbered; ``O`` is 0.

    >>> TagSet(("LOC", "PER")).tags
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.labels:
            raise DataError("expected at least one entity type, found none")
        if len(set(self.labels)) != len(self.labels):
            raise DataError(f"expected every entity type once, found {', '.join(self.labels)}")

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags in the order of their numbers."""
        return (OUTSIDE, *(f"{prefix}-{label}" for label in self.labels for prefix in "BI"))

    def __len__(self) -> int:
        return 1 + 2 * len(self.labels)

    def ids(self, spans: Sequence[Span], n_words: int) -> tuple[int, ...]:
        """The numbers of the tags of a sentence."""
        number = {tag: i for i, tag in enumerate(self.tags)}
        try:
            return tuple(number[tag] for tag in tags_from_spans(spans, n_words))
        except KeyError as unknown:
            known = ", ".join(self.labels)
            raise DataError(f"expected entities of the types {known}, found {unknown}") from None

    def spans(self, tag_ids: Sequence[int]) -> tuple[Span, ...]:
        """The entities in a sentence tagged by number."""
        tags = self.tags
        return spans_from_tags([tags[tag_id] for tag_id in tag_ids])
