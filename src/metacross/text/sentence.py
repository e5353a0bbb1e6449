"""Sentences with their entities, and corpora of sentences."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from metacross.errors import DataError


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """An entity: its words, as a half-open range, and its label.

    Args:
        start: Position of the first word in the sentence, counted from 0.
        end: Position after the last word.
        label: The entity type, such as ``"PER"``.

    >>> Span(start=0, end=2, label="PER")
    Span(start=0, end=2, label='PER')
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sentence was read: a file (or ``<stdin>``) and the line of its first word.

    ``line`` is 0 where there are no lines. ``start`` is the character offset in the line if the
    line has several sentences. ``item`` names what a line number does not find, such as the task of
    an annotation tool; offsets are then those in its text.
    """

    source: str
    line: int
    start: int = 0
    item: str = ""

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        return f"{self.source}{line}" + (f": {self.item}" if self.item else "")


@dataclass(frozen=True, slots=True)
class Layout:
    """The text that a sentence was split from, and each word's half-open character range in it."""

    text: str
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence and its entities.

    Two sentences are equal if their words, spans, language and layout are equal; ``origin`` and
    ``tags`` are not compared.

    Args:
        words: At least one word.
        spans: The entities, in order and without overlap. None means that the sentence is not
            annotated, ``()`` that it is annotated and has no entities.
        language: Language code such as ``"es"``; None if unknown.
        origin: The file and line it was read from; None if it was not read from a file.
        layout: The text it was split from; None if it was given as words.
        tags: The tags as they are in the file, well-formed or not; None if ``spans`` was not read
            from tags. Use ``with_spans`` to change the entities: it drops the tags.

    >>> sentence = Sentence(("Ana", "Ruiz", "spoke"), (Span(0, 2, "PER"),), language="en")
    >>> sentence.words_of(sentence.spans[0])
    ('Ana', 'Ruiz')
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...] | None = None
    language: str | None = None
    origin: Origin | None = field(default=None, compare=False)
    layout: Layout | None = None
    tags: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.words:
            raise DataError(f"{self.place}: expected at least one word, found none")
        if self.layout is not None and len(self.layout.offsets) != len(self.words):
            n_offsets = len(self.layout.offsets)
            raise DataError(
                f"{self.place}: expected offsets of {len(self.words)} words, found {n_offsets}"
            )
        if self.tags is not None and len(self.tags) != len(self.words):
            raise DataError(
                f"{self.place}: expected {len(self.words)} tags, one per word, "
                f"found {len(self.tags)}"
            )
        previous_end = 0
        for span in self.spans or ():
            if not previous_end <= span.start < span.end <= len(self.words):
                raise DataError(
                    f"{self.place}: expected entities in order, without overlap and within "
                    f"{len(self.words)} words, found {span}"
                )
            previous_end = span.end

    @property
    def place(self) -> str:
        """File and line of the sentence, or its first words, for messages."""
        return str(self.origin) if self.origin else f"sentence {' '.join(self.words[:5])!r}"

    @property
    def labeled(self) -> bool:
        """Whether the sentence is annotated, even if it has no entities."""
        return self.spans is not None

    def words_of(self, span: Span) -> tuple[str, ...]:
        """The words of an entity."""
        return self.words[span.start : span.end]

    def laid_out(self) -> Layout:
        """The layout; if there is none, the words joined by spaces."""
        if self.layout is not None:
            return self.layout
        offsets, position = [], 0
        for word in self.words:
            offsets.append((position, position + len(word)))
            position += len(word) + 1
        return Layout(" ".join(self.words), tuple(offsets))

    def with_spans(self, spans: tuple[Span, ...] | None) -> Sentence:
        """A copy with other entities and without ``tags``, which described the old ones.

        >>> Sentence(("Paris",), tags=("O",)).with_spans((Span(0, 1, "LOC"),)).tags is None
        True
        """
        return replace(self, spans=spans, tags=None)

    def relabeled(self, new_labels: Mapping[str, str | None]) -> Sentence:
        """A copy with labels renamed, and without the entities whose label is mapped to None.

        >>> paris = Sentence(("Paris",), (Span(0, 1, "location"),))
        >>> paris.relabeled({"location": "LOC"}).spans
        (Span(start=0, end=1, label='LOC'),)
        """
        if self.spans is None:
            return self
        renamed = ((span, new_labels.get(span.label, span.label)) for span in self.spans)
        spans = tuple(replace(span, label=label) for span, label in renamed if label is not None)
        return self if spans == self.spans else self.with_spans(spans)


@dataclass(frozen=True, slots=True)
class Repair:
    """A tag that its scheme does not allow at its position, and the tag it was read as."""

    place: str
    found: str
    read_as: str

    def __str__(self) -> str:
        return f"{self.place}: {self.found} is not allowed here, read as {self.read_as}"


@dataclass(frozen=True, slots=True)
class Omission:
    """An annotation that is in the file but not in the corpus, and the reason."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ReadingNotes:
    """What a reader noticed in a corpus besides its sentences.

    ``documents`` counts ``-DOCSTART-`` lines, ``empty_sentences`` skipped records without words.
    ``scheme`` is the tag scheme, None if the corpus has no tags. ``repairs`` counts all repaired
    tags, ``repair_examples`` holds the first of them. ``omissions`` are all annotations that were
    left out, and ``remarks`` say what else a reader had to decide.
    """

    documents: int = 0
    empty_sentences: int = 0
    scheme: str | None = None
    repairs: int = 0
    repair_examples: tuple[Repair, ...] = ()
    omissions: tuple[Omission, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """What is counted in a pass over sentences. ``languages`` has None for those without one."""

    words: int
    entities_by_label: Mapping[str, int]
    languages: frozenset[str | None]
    labeled: bool


class SentenceCounter:
    """Counts sentences as they come."""

    def __init__(self) -> None:
        self._n_words = 0
        self._labels: Counter[str] = Counter()
        self._languages: set[str | None] = set()
        self._labeled = True

    def add(self, sentence: Sentence) -> None:
        """Count a sentence."""
        self._n_words += len(sentence.words)
        self._labels.update(span.label for span in sentence.spans or ())
        self._languages.add(sentence.language)
        self._labeled = self._labeled and sentence.labeled

    @property
    def counts(self) -> SentenceCounts:
        """What was counted so far, labels in alphabetical order."""
        labels = dict(sorted(self._labels.items()))
        return SentenceCounts(self._n_words, labels, frozenset(self._languages), self._labeled)


class CountedSentences(Sequence[Sentence]):
    """Sentences that are not in memory, so that their counts are kept."""

    @property
    @abstractmethod
    def counts(self) -> SentenceCounts:
        """Words, labels and languages."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A sequence of sentences. Corpora with equal sentences are equal.

    ``read_corpus`` makes one from a file; in Python it is made from sentences.

    Args:
        sentences: The sentences in order: a tuple, or a sequence that reads them from a file.
        source: The file or data set it was read from; None if it was made in Python.
        notes: What the reader noticed, such as the tag scheme.

    >>> corpus = Corpus((Sentence(("Paris",), (Span(0, 1, "LOC"),)), Sentence(("Yes", "!"), ())))
    >>> corpus
    <Corpus corpus: 2 sentences, 1 entities>
    >>> corpus.n_words, corpus.entities_by_label
    (3, {'LOC': 1})
    >>> corpus[0].words
    ('Paris',)
    """

    sentences: Sequence[Sentence]
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
        """The name of the corpus in messages: its source, or ``corpus``."""
        return self.source or "corpus"

    @property
    def labeled(self) -> bool:
        """Whether every sentence is annotated."""
        if isinstance(self.sentences, CountedSentences):
            return self.sentences.counts.labeled
        return all(sentence.labeled for sentence in self.sentences)

    @property
    def n_words(self) -> int:
        """Number of words."""
        if isinstance(self.sentences, CountedSentences):
            return self.sentences.counts.words
        return sum(len(sentence.words) for sentence in self.sentences)

    @property
    def entities_by_label(self) -> dict[str, int]:
        """Number of entities of each label, labels in alphabetical order."""
        if isinstance(self.sentences, CountedSentences):
            return dict(self.sentences.counts.entities_by_label)
        spans = (span for sentence in self.sentences for span in sentence.spans or ())
        return dict(sorted(Counter(span.label for span in spans).items()))

    @property
    def languages(self) -> frozenset[str | None]:
        """The languages of the sentences; None is among them if a sentence has none."""
        if isinstance(self.sentences, CountedSentences):
            return self.sentences.counts.languages
        return frozenset(sentence.language for sentence in self.sentences)

    @property
    def n_entities(self) -> int:
        """Number of entities of all labels."""
        return sum(self.entities_by_label.values())

    def only_labeled(self) -> Corpus:
        """A copy with the annotated sentences only.

        >>> len(Corpus((Sentence(("Yes",), ()), Sentence(("No",), None))).only_labeled())
        1
        """
        if self.labeled:
            return self
        return replace(self, sentences=tuple(s for s in self.sentences if s.labeled))

    def relabeled(self, new_labels: Mapping[str, str | None]) -> Corpus:
        """A copy with labels renamed, and without the entities whose label is mapped to None.

        >>> corpus = Corpus((Sentence(("Paris",), (Span(0, 1, "location"),)),))
        >>> corpus.relabeled({"location": "LOC"}).entities_by_label
        {'LOC': 1}
        >>> corpus.relabeled({"location": None}).entities_by_label
        {}
        """
        if not new_labels:
            return self
        sentences = tuple(sentence.relabeled(new_labels) for sentence in self.sentences)
        return replace(self, sentences=sentences)
