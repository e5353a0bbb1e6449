"""The words of a corpus and the entities marked in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from metacross.errors import DataError


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """An entity: the words from ``start`` up to but without ``end``."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sentence was read: a file (or ``<stdin>``) and the line of its first word."""

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The text a sentence was cut from, and the half-open character range of each word in it."""

    text: str
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words with the entities in them.

    ``spans`` is None where nobody marked the sentence and ``()`` where someone did and found none.
    ``layout`` is None where the words were given as words. Two sentences are equal wherever they
    were read.
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...] | None = None
    language: str | None = None
    origin: Origin | None = field(default=None, compare=False)
    layout: Layout | None = None

    def __post_init__(self) -> None:
        if not self.words:
            raise DataError(f"{self.place}: expected at least one word, found none")
        if self.layout is not None and len(self.layout.offsets) != len(self.words):
            found = len(self.layout.offsets)
            raise DataError(f"{self.place}: {len(self.words)} words but {found} offsets")
        end_before = 0
        for span in self.spans or ():
            if not end_before <= span.start < span.end <= len(self.words):
                raise DataError(
                    f"{self.place}: expected entities in order, apart, and within "
                    f"{len(self.words)} words, found {span}"
                )
            end_before = span.end

    @property
    def place(self) -> str:
        """Where the sentence stands, for messages."""
        return str(self.origin) if self.origin else f"sentence {' '.join(self.words[:5])!r}"

    @property
    def labeled(self) -> bool:
        """Whether someone looked for entities here."""
        return self.spans is not None

    def words_of(self, span: Span) -> tuple[str, ...]:
        """The words of an entity."""
        return self.words[span.start : span.end]

    def laid_out(self) -> Layout:
        """The text the sentence was cut from; its words joined by blanks where there is none."""
        if self.layout is not None:
            return self.layout
        offsets, position = [], 0
        for word in self.words:
            offsets.append((position, position + len(word)))
            position += len(word) + 1
        return Layout(" ".join(self.words), tuple(offsets))

    def relabeled(self, new_labels: Mapping[str, str | None]) -> Sentence:
        """The sentence with entity types renamed; a type mapped to None is no entity any more.

        >>> paris = Sentence(("Paris",), (Span(0, 1, "location"),))
        >>> paris.relabeled({"location": "LOC"}).spans
        (Span(start=0, end=1, label='LOC'),)
        """
        if self.spans is None:
            return self
        renamed = ((span, new_labels.get(span.label, span.label)) for span in self.spans)
        spans = tuple(replace(span, label=label) for span, label in renamed if label is not None)
        return replace(self, spans=spans)


@dataclass(frozen=True, slots=True)
class Repair:
    """A tag that its scheme does not allow in its place, and how it was read."""

    place: str
    found: str
    read_as: str

    def __str__(self) -> str:
        return f"{self.place}: {self.found} is not allowed here, read as {self.read_as}"


@dataclass(frozen=True, slots=True)
class ReadingNotes:
    """What a reader met besides sentences.

    ``scheme`` is None where the corpus has no tags. ``repairs`` counts all repaired tags,
    ``repair_examples`` holds the first of them.
    """

    documents: int = 0
    empty_sentences: int = 0
    scheme: str | None = None
    repairs: int = 0
    repair_examples: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sentences in their order; equal to another corpus with the same sentences."""

    sentences: tuple[Sentence, ...]
    source: str | None = field(default=None, compare=False)
    notes: ReadingNotes = field(default=ReadingNotes(), compare=False)

    def __repr__(self) -> str:
        entities = f"{self.n_entities:,} entities" if self.labeled else "unlabeled"
        return f"<Corpus {self.name}: {len(self):,} sentences, {entities}>"

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __getitem__(self, position: int) -> Sentence:
        return self.sentences[position]

    @property
    def name(self) -> str:
        """What to call the corpus in messages."""
        return self.source or "corpus"

    @property
    def labeled(self) -> bool:
        """Whether every sentence is marked."""
        return all(sentence.labeled for sentence in self.sentences)

    @property
    def n_words(self) -> int:
        """Words of all sentences."""
        return sum(len(sentence.words) for sentence in self.sentences)

    @property
    def entities_by_label(self) -> dict[str, int]:
        """How many entities of each type, in alphabetical order of the types."""
        spans = (span for sentence in self.sentences for span in sentence.spans or ())
        return dict(sorted(Counter(span.label for span in spans).items()))

    @property
    def n_entities(self) -> int:
        """Entities of all types."""
        return sum(self.entities_by_label.values())

    def relabeled(self, new_labels: Mapping[str, str | None]) -> Corpus:
        """The corpus with entity types renamed or, where mapped to None, dropped."""
        sentences = tuple(sentence.relabeled(new_labels) for sentence in self.sentences)
        return replace(self, sentences=sentences)
