"""Computes statistics of a corpus and the overlap of two corpora."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from metacross.text.known_datasets import KnownDataset, known_dataset
from metacross.text.sentence import Corpus

MAX_OMISSIONS = 100
"""How many of the annotations that were left out a summary lists."""


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """Statistics of a corpus.

    Args:
        corpus: The corpus.
        longest: Number of words of the longest sentence.
        longest_place: File and line of the longest sentence.
        without_entities: Number of sentences without entities.
        duplicates: Number of sentences whose words occurred in an earlier sentence.
        published: The published sizes; None if the corpus is not a known data set.
    """

    corpus: Corpus
    longest: int
    longest_place: str
    without_entities: int
    duplicates: int
    published: KnownDataset | None

    @property
    def comparable_sentences(self) -> int:
        """Number of sentences, counted as in the published sizes."""
        counts_documents = self.published is not None and self.published.counts_documents
        return len(self.corpus) + (self.corpus.notes.documents if counts_documents else 0)

    @property
    def problems(self) -> tuple[str, ...]:
        """What a user should look at, with file and line where possible."""
        notes, problems = self.corpus.notes, []
        problems += [str(repair) for repair in notes.repair_examples]
        if notes.repairs > len(notes.repair_examples):
            n_more = notes.repairs - len(notes.repair_examples)
            problems.append(f"{self.corpus.name}: {n_more:,} more tags were repaired")
        if notes.empty_sentences:
            problems.append(
                f"{self.corpus.name}: {notes.empty_sentences:,} empty sentences skipped"
            )
        problems += [str(omission) for omission in notes.omissions[:MAX_OMISSIONS]]
        if len(notes.omissions) > MAX_OMISSIONS:
            n_more = len(notes.omissions) - MAX_OMISSIONS
            problems.append(f"{self.corpus.name}: {n_more:,} more annotations were left out")
        problems += [f"{self.corpus.name}: {remark}" for remark in notes.remarks]
        return tuple(problems)


@dataclass(frozen=True, slots=True)
class CorpusOverlap:
    """What two corpora have in common.

    Args:
        first: A corpus.
        second: Another corpus.
        shared_sentences: Number of sentences of ``second`` that also occur in ``first``.
        only_in_first: Labels that only ``first`` has.
        only_in_second: Labels that only ``second`` has.
    """

    first: Corpus
    second: Corpus
    shared_sentences: int
    only_in_first: tuple[str, ...]
    only_in_second: tuple[str, ...]


def summarize(corpus: Corpus) -> CorpusSummary:
    """Compute the statistics of a corpus.

    >>> from metacross.text.bundled_corpus import bundled_corpus
    >>> summarize(bundled_corpus("de", "test")).duplicates
    0
    """
    longest = max(corpus, key=lambda sentence: len(sentence.words))
    return CorpusSummary(
        corpus=corpus,
        longest=len(longest.words),
        longest_place=longest.place,
        without_entities=sum(not sentence.spans for sentence in corpus),
        duplicates=len(corpus) - len({sentence.words for sentence in corpus}),
        published=known_dataset(corpus),
    )


def overlaps(corpora: Sequence[Corpus]) -> list[CorpusOverlap]:
    """Compare every two corpora. Labels are compared only if both corpora are labeled."""
    return [_overlap(first, second) for first, second in combinations(corpora, 2)]


def _overlap(first: Corpus, second: Corpus) -> CorpusOverlap:
    first_sentences = {sentence.words for sentence in first}
    n_shared = sum(sentence.words in first_sentences for sentence in second)
    only_in_first: tuple[str, ...] = ()
    only_in_second: tuple[str, ...] = ()
    if first.labeled and second.labeled:
        first_labels, second_labels = {*first.entities_by_label}, {*second.entities_by_label}
        only_in_first = tuple(sorted(first_labels - second_labels))
        only_in_second = tuple(sorted(second_labels - first_labels))
    return CorpusOverlap(first, second, n_shared, only_in_first, only_in_second)
