"""Tells what is in a corpus, and how corpora go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from metacross.text.known_datasets import KnownDataset, known_dataset
from metacross.text.sentence import Corpus


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """What a corpus holds.

    ``published`` is None where the corpus is no known one, ``longest_place`` says where the
    longest sentence stands.
    """

    corpus: Corpus
    longest: int
    longest_place: str
    without_entities: int
    duplicates: int
    published: KnownDataset | None

    @property
    def comparable_sentences(self) -> int:
        """Sentences counted as the published count does."""
        counts_documents = self.published is not None and self.published.counts_documents
        return len(self.corpus) + (self.corpus.notes.documents if counts_documents else 0)

    @property
    def problems(self) -> tuple[str, ...]:
        """What a user should look at, as file:line where there is a line."""
        notes, problems = self.corpus.notes, []
        problems += [str(repair) for repair in notes.repair_examples]
        if notes.repairs > len(notes.repair_examples):
            left = notes.repairs - len(notes.repair_examples)
            problems.append(f"{self.corpus.name}: {left:,} more tags were repaired")
        if notes.empty_sentences:
            problems.append(
                f"{self.corpus.name}: {notes.empty_sentences:,} empty sentences skipped"
            )
        return tuple(problems)


@dataclass(frozen=True, slots=True)
class Pair:
    """What two corpora have in common and what not."""

    first: Corpus
    second: Corpus
    shared_sentences: int
    only_in_first: tuple[str, ...]
    only_in_second: tuple[str, ...]


def summarize(corpus: Corpus) -> CorpusSummary:
    """Look through a corpus."""
    longest = max(corpus, key=lambda sentence: len(sentence.words))
    return CorpusSummary(
        corpus=corpus,
        longest=len(longest.words),
        longest_place=longest.place,
        without_entities=sum(not sentence.spans for sentence in corpus),
        duplicates=len(corpus) - len({sentence.words for sentence in corpus}),
        published=known_dataset(corpus),
    )


def pairs(corpora: Sequence[Corpus]) -> list[Pair]:
    """Compare every two corpora. Types are compared between labeled ones only."""
    return [_pair(first, second) for first, second in combinations(corpora, 2)]


def _pair(first: Corpus, second: Corpus) -> Pair:
    in_first = {sentence.words for sentence in first}
    shared = sum(sentence.words in in_first for sentence in second)
    only_in_first: tuple[str, ...] = ()
    only_in_second: tuple[str, ...] = ()
    if first.labeled and second.labeled:
        first_types, second_types = {*first.entities_by_label}, {*second.entities_by_label}
        only_in_first = tuple(sorted(first_types - second_types))
        only_in_second = tuple(sorted(second_types - first_types))
    return Pair(first, second, shared, only_in_first, only_in_second)
