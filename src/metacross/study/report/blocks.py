"""The building blocks of a report, independent of the format it is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from metacross.text.sentence import Sentence, Span

MISSING = "–"
"""Shown where there is no value."""

Tone = Literal["good", "bad", "muted", "strong", "quoted"]
"""How a value is meant: an improvement, a loss, less important or more important than others, or
quoted from elsewhere.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a table.

    ``detail`` follows the text and ``note`` is below it, both less prominent; empty means none.
    ``code`` marks text to copy. ``shade`` colors the background: from 0 (no color) to 1, or to -1
    for the opposite color; None means no color.
    """

    text: str
    detail: str = ""
    note: str = ""
    tone: Tone | None = None
    code: bool = False
    shade: float | None = None

    @property
    def full_text(self) -> str:
        """Everything the entry says, on one line.

        >>> Entry("74.6", detail="± 0.3", note="3 of 5 seeds").full_text
        '74.6 ± 0.3 (3 of 5 seeds)'
        """
        detail = f" {self.detail}" if self.detail else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.text}{detail}{note}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table. Neighboring rows of the same ``group`` are shown under its name."""

    name: str
    entries: tuple[Entry, ...]
    group: str = ""
    tone: Tone | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; the first heading belongs to the row names.

    ``text_columns`` holds the headings of the columns that contain words instead of numbers.
    ``color_note`` explains the shades of the entries, where the format has colors.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    text_columns: frozenset[str] = frozenset()
    color_note: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to copy."""

    text: str


@dataclass(frozen=True, slots=True)
class Collapsible:
    """Blocks that are hidden until the reader opens them."""

    summary: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A named line of a chart; ``points`` are (step, value) and at least one. Lines with the same
    ``color`` number look the same in all charts.
    """

    name: str
    color: int
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Values by training step, or by what ``step_name`` says. ``description`` says in words what
    the picture shows.
    """

    title: str
    caption: str
    description: str
    value_name: str
    lines: tuple[Line, ...]
    step_name: str = "step"


@dataclass(frozen=True, slots=True)
class LabeledSentence:
    """A sentence with highlighted entities; ``language`` is None where it is unknown."""

    name: str
    sentence: Sentence
    spans: tuple[Span, ...]
    language: str | None

    @property
    def separator(self) -> str:
        """What separates two words."""
        return "" if self.sentence.language in ("zh", "ja") else " "

    @property
    def segments(self) -> list[tuple[str, str | None]]:
        """The words outside of entities (label None), and the entities with their labels.

        >>> sentence = Sentence(("Ana", "Ruiz", "habló"))
        >>> LabeledSentence("gold", sentence, (Span(0, 2, "PER"),), "es").segments
        [('Ana Ruiz', 'PER'), ('habló', None)]
        """
        segments: list[tuple[str, str | None]] = []
        position = 0
        for span in self.spans:
            segments += [(word, None) for word in self.sentence.words[position : span.start]]
            segments.append((self.separator.join(self.sentence.words_of(span)), span.label))
            position = span.end
        return segments + [(word, None) for word in self.sentence.words[position:]]


@dataclass(frozen=True, slots=True)
class Card:
    """Ways to label one sentence, to compare. ``verdict`` sums them up, empty means it does not.
    ``choices`` holds the position of the card's option in each filter of its ``Cards``.
    """

    heading: str
    sentences: tuple[LabeledSentence, ...]
    verdict: str = ""
    tone: Tone | None = None
    choices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice among cards; ``selected`` is the position of the option that is chosen at first,
    None means all cards are shown.
    """

    name: str
    options: tuple[str, ...]
    selected: int | None = None


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards that the reader can filter, shown on web pages only."""

    anchor: str
    cards: tuple[Card, ...]
    filters: tuple[Filter, ...] = ()


Block: TypeAlias = "Table | Heading | Paragraph | Code | Collapsible | Chart | Cards"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report that can be linked to by its ``anchor``."""

    anchor: str
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A complete report; ``facts`` are the lines that a reader needs first."""

    title: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...]
